// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct request {
	uint8_t operation;
	char id[ID_MAX + 1];

	char **argv; // NULL-terminated; NULL when not given
	size_t argc;
	char *shell;
	const uint8_t *code; // points into the request bytes; may hold anything
	size_t code_length;
	bool has_code;
	char *language;
	char **env; // "KEY=value"
	size_t envc;
	char *cwd, *user;
	bool wants_stdin, kill_on_disconnect, settle;
	uint32_t timeout_ms; // 0: none
	bool has_seed;
	uint8_t seed[32];

	char *path;
	bool has_mode;
	mode_t mode;

	char *hostname;
	char sandbox[ID_MAX + 1];
	bool has_generation;
	uint32_t generation;
	bool has_entropy;
	uint8_t entropy[32];
	uint32_t wait_ms;
};

// NULL on success, else what is wrong in words. The strings are copies, code is not.
const char *request_parse(struct request *, const uint8_t *bytes, size_t length);
