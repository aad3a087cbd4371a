// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tlv_writer {
	uint8_t *data;
	size_t length, capacity;
	bool overflow;
};

struct tlv_reader {
	const uint8_t *data;
	size_t left;
};

void tlv_put(struct tlv_writer *, uint8_t tag, const void *value, size_t length);
void tlv_put_u32(struct tlv_writer *, uint8_t tag, uint32_t value);
void tlv_put_u64(struct tlv_writer *, uint8_t tag, uint64_t value);
void tlv_put_text(struct tlv_writer *, uint8_t tag, const char *text);

// 1: one was read; 0: the end; -1: malformed.
int tlv_next(struct tlv_reader *, uint8_t *tag, const uint8_t **value, size_t *length);
