// SPDX-License-Identifier: Apache-2.0
#include "frame.h"
#include "bytes.h"
#include "limits.h"
#include "protocol.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static uint8_t *address_space(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		_exit(71); // a handler without memory cannot even say so; the client sees its connection end
	return p;
}

void inbox_open(struct inbox *in)
{
	*in = (struct inbox){.capacity = FRAME_HEADER + FRAME_PAYLOAD_MAX};
	in->data = address_space(in->capacity);
}

void inbox_reset(struct inbox *in)
{
	in->start = in->end = 0;
	in->ended = false;
}

bool inbox_has_room(const struct inbox *in)
{
	return in->end - in->start < in->capacity;
}

void inbox_fill(struct inbox *in, int fd)
{
	if (in->start == in->end)
		in->start = in->end = 0;
	if (in->end == in->capacity && in->start > 0) {
		memmove(in->data, in->data + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	while (in->end < in->capacity) {
		ssize_t n = recv(fd, in->data + in->end, in->capacity - in->end, MSG_DONTWAIT);
		if (n > 0) {
			in->end += (size_t)n;
			return;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			in->ended = true;
		return;
	}
}

int inbox_next(struct inbox *in, struct frame *f)
{
	size_t have = in->end - in->start;
	if (have < FRAME_HEADER)
		return 0;
	const uint8_t *p = in->data + in->start;
	size_t length = load_u32(p + 1);
	if (length > FRAME_PAYLOAD_MAX)
		return -1;
	if (have < FRAME_HEADER + length) {
		// The rest must fit behind what is here.
		if (in->start > 0 && in->start + FRAME_HEADER + length > in->capacity) {
			memmove(in->data, p, have);
			in->start = 0;
			in->end = have;
		}
		return 0;
	}
	*f = (struct frame){.type = p[0], .payload = p + FRAME_HEADER, .length = length};
	in->start += FRAME_HEADER + length;
	return 1;
}

void outbox_open(struct outbox *out, size_t capacity)
{
	*out = (struct outbox){.capacity = capacity};
	out->data = address_space(capacity);
}

size_t outbox_used(const struct outbox *out)
{
	return out->end - out->start;
}

uint8_t *outbox_reserve(struct outbox *out, size_t max)
{
	size_t need = FRAME_HEADER + max;
	if (need > out->capacity - outbox_used(out))
		return NULL;
	if (need > out->capacity - out->end) {
		memmove(out->data, out->data + out->start, outbox_used(out));
		out->end -= out->start;
		out->start = 0;
	}
	return out->data + out->end + FRAME_HEADER;
}

void outbox_commit(struct outbox *out, uint8_t type, size_t length)
{
	uint8_t *head = out->data + out->end;
	head[0] = type;
	store_u32(head + 1, (uint32_t)length);
	out->end += FRAME_HEADER + length;
}

bool outbox_put(struct outbox *out, uint8_t type, const void *payload, size_t length)
{
	uint8_t *to = outbox_reserve(out, length);
	if (!to)
		return false;
	if (length)
		memcpy(to, payload, length);
	outbox_commit(out, type, length);
	return true;
}

static void drop_sent_frames(struct outbox *out)
{
	while (out->start < out->end) {
		const uint8_t *head = out->data + out->start;
		size_t payload = load_u32(head + 1);
		if (out->head_sent < FRAME_HEADER + payload)
			return;
		if (head[0] == FRAME_STDOUT)
			out->stdout_sent += payload;
		if (head[0] == FRAME_STDERR)
			out->stderr_sent += payload;
		out->start += FRAME_HEADER + payload;
		out->head_sent -= FRAME_HEADER + payload;
	}
	out->start = out->end = 0; // all gone: begin at the front again, so that few pages are ever touched
}

bool outbox_flush(struct outbox *out, int fd)
{
	while (out->start < out->end) {
		size_t from = out->start + out->head_sent;
		ssize_t n = send(fd, out->data + from, out->end - from, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		out->head_sent += (size_t)n;
		drop_sent_frames(out);
	}
	return true;
}

void outbox_rewind(struct outbox *out)
{
	out->head_sent = 0;
}

void outbox_clear(struct outbox *out)
{
	out->start = out->end = out->head_sent = 0;
}

bool frame_send(int fd, uint8_t type, const void *payload, size_t length)
{
	uint8_t head[FRAME_HEADER] = {type};
	store_u32(head + 1, (uint32_t)length);
	struct iovec parts[2] = {{head, sizeof head}, {(void *)payload, length}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)(FRAME_HEADER + length);
}
