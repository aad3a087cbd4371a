// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Frames that come in. The buffer is address space of one largest frame; only what is used is ever touched.
struct inbox {
	uint8_t *data;
	size_t start, end, capacity;
	bool ended; // the peer will send no more
};

struct frame {
	uint8_t type;
	const uint8_t *payload; // valid until the next inbox_fill
	size_t length;
};

// Frames that go out. A frame leaves the queue only when its last byte was handed to the kernel, so after a
// detach in the middle of one, the whole frame is sent again to the next client.
struct outbox {
	uint8_t *data;
	size_t start, end, capacity;
	size_t head_sent;     // bytes of the first frame already sent
	uint64_t stdout_sent; // payload bytes of frames that left completely
	uint64_t stderr_sent;
};

void inbox_open(struct inbox *);
void inbox_fill(struct inbox *, int fd);               // reads what is there, never blocks; sets ended
bool inbox_has_room(const struct inbox *);
int inbox_next(struct inbox *, struct frame *);        // 1 a frame, 0 incomplete, -1 malformed
void inbox_reset(struct inbox *);                      // forget all, for a new connection

void outbox_open(struct outbox *, size_t capacity);
size_t outbox_used(const struct outbox *);
// Space for a payload that is written in place: at most max bytes, then outbox_commit with what was used.
uint8_t *outbox_reserve(struct outbox *, size_t max);
void outbox_commit(struct outbox *, uint8_t type, size_t length);
bool outbox_put(struct outbox *, uint8_t type, const void *payload, size_t length);
bool outbox_flush(struct outbox *, int fd);            // false: the peer is gone
void outbox_rewind(struct outbox *);                   // the first frame has to be sent whole again
void outbox_clear(struct outbox *);

// One small frame at once, past any queue; for a fresh connection whose buffer is empty.
bool frame_send(int fd, uint8_t type, const void *payload, size_t length);
