// SPDX-License-Identifier: Apache-2.0
#include "handler.h"
#include "clock.h"
#include "control.h"
#include "limits.h"
#include "protocol.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void handler_disconnect(struct handler *h)
{
	if (h->connection < 0)
		return;
	struct control c = {.kind = CONTROL_DETACHED};
	close(h->connection);
	h->connection = -1;
	control_send(h->control, &c, -1);
}

// Everything queued goes out, or the client is given up after a while.
static void flush_all(struct handler *h)
{
	int64_t end = now_ms() + TRANSFER_IDLE_MS;
	while (h->connection >= 0 && outbox_flush(&h->out, h->connection) && outbox_used(&h->out) > 0) {
		struct pollfd p = {.fd = h->connection, .events = POLLOUT};
		int64_t left = end - now_ms();
		if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
			return;
	}
}

void handler_finish(struct handler *h, uint8_t type, const struct tlv_writer *w)
{
	outbox_put(&h->out, type, w->data, w->length);
	flush_all(h);
	handler_disconnect(h);
	_exit(0);
}

// Closing while the client still writes would reset the connection, and with it the answer on its way.
static void wait_for_close(struct handler *h)
{
	static uint8_t dropped[16 * 1024];
	int64_t end = now_ms() + CLOSE_GRACE_MS;
	shutdown(h->connection, SHUT_WR);
	for (int64_t left; (left = end - now_ms()) > 0;) {
		struct pollfd p[2] = {{.fd = h->connection, .events = POLLIN}, {.fd = h->control, .events = POLLIN}};
		if (poll(p, 2, (int)left) > 0 && (p[1].revents || recv(h->connection, dropped, sizeof dropped, MSG_DONTWAIT) <= 0))
			return;
	}
}

void handler_finish_gently(struct handler *h, uint8_t type, const struct tlv_writer *w)
{
	outbox_put(&h->out, type, w->data, w->length);
	flush_all(h);
	wait_for_close(h);
	handler_disconnect(h);
	_exit(0);
}

void handler_fail(struct handler *h, const char *code, const char *message)
{
	uint8_t bytes[1024];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_text(&w, TAG_FAILURE_CODE, code);
	tlv_put(&w, TAG_MESSAGE, message, strnlen(message, 900));
	handler_finish_gently(h, FRAME_FAILURE, &w);
}

void handler_ask(struct handler *h, const struct control *question, int passed_fd, struct control *answer)
{
	if (!control_send(h->control, question, passed_fd))
		_exit(71);
	for (;;) {
		int fd;
		int got = control_receive(h->control, answer, &fd);
		if (fd >= 0)
			close(fd);
		if (got < 0)
			_exit(71);
		if (got == 1 && answer->kind == CONTROL_DETACH) {
			struct control done = {.kind = CONTROL_DONE}; // a new try may use the id that we may have taken
			control_send(h->control, &done, -1);
			handler_fail(h, "interrupted", "a checkpoint came before the operation began; nothing was done");
		}
		if (got == 1)
			return;
		struct pollfd p = {.fd = h->control, .events = POLLIN};
		poll(&p, 1, -1);
	}
}

static void say_hello(struct handler *h)
{
	uint8_t bytes[32];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u32(&w, TAG_VERSION, PROTOCOL_VERSION);
	outbox_put(&h->out, FRAME_HELLO, w.data, w.length);
	outbox_flush(&h->out, h->connection);
}

static void collect(struct handler *h, const struct frame *f)
{
	if (f->length > REQUEST_MAX - h->request_length)
		handler_fail(h, "too_large", "the request is larger than 33 MiB; put files with the put operation");
	uint8_t *larger = realloc(h->request_bytes, h->request_length + f->length + 1);
	if (!larger)
		handler_fail(h, "no_memory", "the sandbox has no memory left for the request");
	memcpy(larger + h->request_length, f->payload, f->length);
	h->request_bytes = larger;
	h->request_length += f->length;
}

// True once the last request frame is here.
static bool take_frames(struct handler *h)
{
	struct frame f;
	int got;
	while ((got = inbox_next(&h->in, &f)) == 1) {
		if (f.type != FRAME_REQUEST && f.type != FRAME_REQUEST_PART)
			handler_fail(h, "bad_request", "the first frames must be the request");
		collect(h, &f);
		if (f.type == FRAME_REQUEST)
			return true;
	}
	if (got < 0)
		handler_fail(h, "bad_request", "a frame is larger than 256 KiB");
	return false;
}

static void read_request(struct handler *h)
{
	int64_t end = now_ms() + HANDSHAKE_MS;
	while (!take_frames(h)) {
		if (h->in.ended)
			_exit(0);
		struct pollfd p[2] = {{.fd = h->connection, .events = POLLIN}, {.fd = h->control, .events = POLLIN}};
		int64_t left = end - now_ms();
		if (left <= 0)
			handler_fail(h, "too_slow", "the request did not arrive within 10 s");
		poll(p, 2, (int)left);
		if (p[1].revents)
			handler_fail(h, "interrupted", "a checkpoint came before the operation began; nothing was done");
		if (p[0].revents)
			inbox_fill(&h->in, h->connection);
	}
}

static void perform(struct handler *h)
{
	switch (h->request.operation) {
	case OP_PUT:
		operation_put(h);
		break;
	case OP_GET:
		operation_get(h);
		break;
	case OP_IDENTITY:
		operation_identity(h);
		break;
	case OP_ATTACH:
		operation_attach(h);
		break;
	case OP_QUIESCE:
		operation_quiesce(h);
		break;
	case OP_PING:
		operation_ping(h);
		break;
	default:
		operation_job(h);
	}
}

void handler_run(int connection, int control)
{
	static struct handler h;
	h.connection = connection;
	h.control = control;
	inbox_open(&h.in);
	outbox_open(&h.out, OUTPUT_DETACHED + FRAME_PAYLOAD_MAX);
	say_hello(&h);
	read_request(&h);
	const char *wrong = request_parse(&h.request, h.request_bytes, h.request_length);
	if (wrong)
		handler_fail(&h, "bad_request", wrong);
	perform(&h);
	_exit(0);
}
