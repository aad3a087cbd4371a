// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "frame.h"
#include "request.h"
#include "tlv.h"
#include <stdbool.h>

// One process per connection: reads the request, does it, answers.
struct handler {
	int connection; // -1: none now
	int control;
	struct inbox in;
	struct outbox out;
	struct request request;
	uint8_t *request_bytes;
	size_t request_length;
};

__attribute__((noreturn)) void handler_run(int connection, int control);

// Closes the connection and tells init, which waits for it before a checkpoint.
void handler_disconnect(struct handler *);

// Says why and ends. Codes are those of PROTOCOL.md.
__attribute__((noreturn)) void handler_fail(struct handler *, const char *code, const char *message);

// For a client that may still be sending: lets it see our last frame before the connection is reset under it.
__attribute__((noreturn)) void handler_finish_gently(struct handler *, uint8_t type, const struct tlv_writer *);

// Sends one last frame, waits until it is out, and ends.
__attribute__((noreturn)) void handler_finish(struct handler *, uint8_t type, const struct tlv_writer *);

// Waits for init's answer to the last control message. Returns its kind; other kinds that arrive before are given
// to the caller too (a DETACH ends the process: nothing has been started yet).
struct control;
void handler_ask(struct handler *, const struct control *question, int passed_fd, struct control *answer);

void operation_put(struct handler *);
void operation_get(struct handler *);
void operation_identity(struct handler *);
void operation_attach(struct handler *);
void operation_quiesce(struct handler *);
void operation_ping(struct handler *);
void operation_job(struct handler *); // exec and code
