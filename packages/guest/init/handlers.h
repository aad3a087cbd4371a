// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Init's table of its handler processes: one per connection, which lives on while its command does.
struct handler_ref { // stays harmless when the slot has found a new owner
	uint16_t slot;
	uint32_t serial;
};

// What a restore gave this sandbox.
struct identity {
	char sandbox[ID_MAX + 1];
	uint32_t generation;
	uint8_t entropy[32];
};

extern struct identity identity;

bool handlers_full(void);      // no more connections for now: they wait in the backlog
void handlers_start(int connection, int listener);
size_t handlers_poll(struct pollfd *polls, struct handler_ref *refs);
void handlers_event(struct handler_ref);
bool handlers_reaped(pid_t);   // true: it was one of ours
size_t handlers_pids(pid_t *pids, size_t most);
void handlers_count(uint32_t *all, uint32_t *execs);

bool handler_tell(struct handler_ref, const struct control *, int passed_fd);

int64_t quiesce_deadline(void); // -1: none
void quiesce_advance(void);
