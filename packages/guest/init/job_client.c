// SPDX-License-Identifier: Apache-2.0
#include "job_client.h"
#include "bytes.h"
#include "clock.h"
#include "control.h"
#include "limits.h"
#include "protocol.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t input_pending(const struct job *j)
{
	return j->input_end - j->input_start;
}

bool client_may_speak(const struct job *j)
{
	return input_pending(j) + FRAME_PAYLOAD_MAX <= STDIN_PENDING;
}

static void leave_client(struct job *j, int64_t keep_ms)
{
	outbox_rewind(&j->handler->out);
	handler_disconnect(j->handler);
	inbox_reset(&j->handler->in);
	j->detached_until = now_ms() + keep_ms;
}

static void end_closing(struct job *j)
{
	struct control c = {.kind = CONTROL_DETACHED};
	close(j->closing);
	j->closing = -1;
	control_send(j->handler->control, &c, -1);
}

void client_closing(struct job *j)
{
	static uint8_t dropped[OUTPUT_CHUNK];
	ssize_t n = recv(j->closing, dropped, sizeof dropped, MSG_DONTWAIT);
	bool waiting = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (!waiting || now_ms() >= j->closing_by)
		end_closing(j);
}

// Closing at once, while the client may be sending input, would reset the connection, and the client would lose what
// it has not read yet. So: our end is over, the client reads up to it and closes, then we do. Input that comes after
// this is not taken; the next attach says from where to send it again.
static void part_from_client(struct job *j, uint32_t grace_ms)
{
	struct handler *h = j->handler;
	if (j->closing >= 0)
		end_closing(j);
	j->closing = h->connection;
	j->closing_by = now_ms() + grace_ms;
	shutdown(j->closing, SHUT_WR);
	h->connection = -1;
	outbox_rewind(&h->out);
	inbox_reset(&h->in);
	j->detached_until = now_ms() + DETACHED_KEEP_MS;
}

void job_discard(struct job *j)
{
	if (j->handler->connection >= 0)
		return;
	j->discard = true;
	j->detached_until = -1;
	outbox_clear(&j->handler->out);
}

void client_gone(struct job *j)
{
	leave_client(j, LOST_KEEP_MS);
	if (!j->handler->request.kill_on_disconnect)
		return;
	job_discard(j);
	job_stop(j, RESULT_CANCELLED);
}

static void take_input(struct job *j, const struct frame *f)
{
	j->input_total += f->length;
	if (j->in < 0)
		return; // no stdin was asked for, or its reader is gone
	if (!j->input)
		j->input = malloc(STDIN_PENDING);
	if (!j->input)
		_exit(71);
	if (j->input_end + f->length > STDIN_PENDING) {
		memmove(j->input, j->input + j->input_start, input_pending(j));
		j->input_end -= j->input_start;
		j->input_start = 0;
	}
	memcpy(j->input + j->input_end, f->payload, f->length);
	j->input_end += f->length;
}

static bool take_signal(struct job *j, const struct frame *f)
{
	uint32_t number = f->length == 4 ? load_u32(f->payload) : 0;
	if (number < 1 || number >= NSIG)
		return false;
	if (number == SIGKILL || j->is_cell)
		job_stop(j, RESULT_CANCELLED);
	else
		exec_signal(j, (int)number);
	return true;
}

// False: the client breaks the protocol.
static bool take_frame(struct job *j, const struct frame *f)
{
	switch (f->type) {
	case FRAME_STDIN:
		take_input(j, f);
		return true;
	case FRAME_STDIN_END:
		return j->input_ended = true;
	case FRAME_SIGNAL:
		return take_signal(j, f);
	case FRAME_DETACH:
		part_from_client(j, CLOSE_GRACE_MS);
		return true;
	default:
		return false;
	}
}

static void take_frames(struct job *j)
{
	struct frame f;
	int got = 0;
	while (j->handler->connection >= 0 && client_may_speak(j) && (got = inbox_next(&j->handler->in, &f)) == 1)
		if (!take_frame(j, &f))
			got = -1, client_gone(j);
	if (got < 0 && j->handler->connection >= 0)
		client_gone(j);
}

void client_go_on(struct job *j)
{
	if (j->handler->connection >= 0)
		take_frames(j);
}

void client_readable(struct job *j, short events)
{
	if (events & POLLIN)
		inbox_fill(&j->handler->in, j->handler->connection);
	take_frames(j);
	bool lost = j->handler->in.ended || (events & (POLLERR | POLLNVAL)) || ((events & POLLHUP) && !(events & POLLIN));
	if (j->handler->connection >= 0 && lost)
		client_gone(j);
}

static void detach_for_checkpoint(struct job *j, uint32_t millis)
{
	if (j->closing >= 0 && j->closing_by > now_ms() + millis)
		j->closing_by = now_ms() + millis;
	if (j->handler->connection < 0)
		return;
	// What the client has sent is taken while there is room; how far that went is told at the next attach.
	for (size_t before = 1, after = 0; before != after && client_may_speak(j) && j->handler->connection >= 0;) {
		before = j->handler->in.end - j->handler->in.start + j->input_total;
		inbox_fill(&j->handler->in, j->handler->connection);
		take_frames(j);
		after = j->handler->in.end - j->handler->in.start + j->input_total;
	}
	if (j->handler->connection >= 0)
		part_from_client(j, millis);
}

static void send_attached(struct job *j, int connection)
{
	uint8_t bytes[64];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u64(&w, TAG_STDOUT_OFFSET, j->handler->out.stdout_sent);
	tlv_put_u64(&w, TAG_STDERR_OFFSET, j->handler->out.stderr_sent);
	tlv_put_u64(&w, TAG_STDIN_OFFSET, j->input_total);
	frame_send(connection, FRAME_ATTACHED, w.data, w.length);
}

static void take_client(struct job *j, int connection)
{
	struct handler *h = j->handler;
	if (h->connection >= 0)
		leave_client(j, 0); // the newer one wins: the older is most likely dead without our knowing
	h->connection = connection;
	if (j->phase == JOB_LINGERING || j->discard) {
		uint8_t bytes[128];
		struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
		tlv_put_text(&w, TAG_FAILURE_CODE, "no_such_exec");
		tlv_put_text(&w, TAG_MESSAGE, "the output and result of this exec are not kept any more");
		frame_send(connection, FRAME_FAILURE, w.data, w.length);
		handler_disconnect(h);
		return;
	}
	j->detached_until = -1;
	send_attached(j, connection);
}

void client_control(struct job *j)
{
	struct control c;
	int fd, got;
	while ((got = control_receive(j->handler->control, &c, &fd)) == 1) {
		if (c.kind == CONTROL_TAKE && fd >= 0)
			take_client(j, fd);
		else if (c.kind == CONTROL_DETACH)
			detach_for_checkpoint(j, c.millis);
		else if (c.kind == CONTROL_DISCARD)
			job_discard(j);
		else
			cell_control(j, &c, fd);
	}
	if (got < 0)
		_exit(71); // init is gone, and with it the sandbox
}
