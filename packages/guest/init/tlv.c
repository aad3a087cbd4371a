// SPDX-License-Identifier: Apache-2.0
#include "tlv.h"
#include "bytes.h"
#include <string.h>

enum { TLV_HEADER = 5 };

void tlv_put(struct tlv_writer *w, uint8_t tag, const void *value, size_t length)
{
	if (w->overflow || length > w->capacity || w->length + TLV_HEADER > w->capacity - length) {
		w->overflow = true;
		return;
	}
	uint8_t *to = w->data + w->length;
	to[0] = tag;
	store_u32(to + 1, (uint32_t)length);
	if (length)
		memcpy(to + TLV_HEADER, value, length);
	w->length += TLV_HEADER + length;
}

void tlv_put_u32(struct tlv_writer *w, uint8_t tag, uint32_t value)
{
	uint8_t bytes[4];
	store_u32(bytes, value);
	tlv_put(w, tag, bytes, sizeof bytes);
}

void tlv_put_u64(struct tlv_writer *w, uint8_t tag, uint64_t value)
{
	uint8_t bytes[8];
	store_u64(bytes, value);
	tlv_put(w, tag, bytes, sizeof bytes);
}

void tlv_put_text(struct tlv_writer *w, uint8_t tag, const char *text)
{
	tlv_put(w, tag, text, strlen(text));
}

int tlv_next(struct tlv_reader *r, uint8_t *tag, const uint8_t **value, size_t *length)
{
	if (r->left == 0)
		return 0;
	if (r->left < TLV_HEADER)
		return -1;
	size_t n = load_u32(r->data + 1);
	if (n > r->left - TLV_HEADER)
		return -1;
	*tag = r->data[0];
	*value = r->data + TLV_HEADER;
	*length = n;
	r->data += TLV_HEADER + n;
	r->left -= TLV_HEADER + n;
	return 1;
}
