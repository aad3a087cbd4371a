// SPDX-License-Identifier: Apache-2.0
#include "clock.h"
#include "control.h"
#include "job.h"
#include "job_client.h"
#include "limits.h"
#include "protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool output_fits(const struct job *j)
{
	if (j->discard || j->phase >= JOB_REPORTING)
		return true; // it is dropped
	size_t limit = j->handler->connection >= 0 ? OUTPUT_ATTACHED : OUTPUT_DETACHED;
	return outbox_used(&j->handler->out) + OUTPUT_CHUNK <= limit;
}

static void close_pipe(int *pipe, size_t *left)
{
	close(*pipe);
	*pipe = -1;
	*left = 0;
}

static void read_pipe(struct job *j, int *pipe, size_t *left, uint8_t type)
{
	static uint8_t dropped[OUTPUT_CHUNK];
	bool drop = j->discard || j->phase >= JOB_REPORTING;
	uint8_t *to = drop ? dropped : outbox_reserve(&j->handler->out, OUTPUT_CHUNK);
	size_t want = j->phase == JOB_DRAINING && *left < OUTPUT_CHUNK ? *left : OUTPUT_CHUNK;
	ssize_t n = read(*pipe, to, want);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_pipe(pipe, left);
		return;
	}
	if (!drop)
		outbox_commit(&j->handler->out, type, (size_t)n);
	if (j->phase == JOB_DRAINING)
		*left -= (size_t)n < *left ? (size_t)n : *left;
}

static void write_input(struct job *j)
{
	while (j->input_start < j->input_end) {
		ssize_t n = write(j->in, j->input + j->input_start, j->input_end - j->input_start);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) { // it reads no more: the rest of the input has no taker
			close(j->in);
			j->in = -1;
			break;
		}
		j->input_start += (size_t)n;
	}
	j->input_start = j->input_end = 0;
}

static void queue_result(struct job *j)
{
	uint8_t bytes[256];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u32(&w, TAG_EXIT_CODE, (uint32_t)j->exit_code);
	tlv_put_u32(&w, TAG_SIGNAL, (uint32_t)j->signal);
	tlv_put_u32(&w, TAG_FLAGS, j->flags);
	tlv_put_u64(&w, TAG_DURATION_US, (uint64_t)j->duration_us);
	tlv_put_text(&w, TAG_SEED_ACK, j->seed_ack);
	if (j->note)
		outbox_put(&j->handler->out, FRAME_STDERR, j->note, strlen(j->note));
	outbox_put(&j->handler->out, FRAME_RESULT, w.data, w.length);
	j->phase = JOB_REPORTING;
}

static void begin_lingering(struct job *j)
{
	struct control c = {.kind = CONTROL_DONE};
	outbox_clear(&j->handler->out);
	handler_disconnect(j->handler);
	control_send(j->handler->control, &c, -1);
	j->detached_until = -1;
	j->phase = JOB_LINGERING;
}

// Closing while the client still writes would reset the connection, and with it the result on its way.
static bool waits_for_close(struct job *j)
{
	struct handler *h = j->handler;
	if (!h->request.wants_stdin || h->connection < 0)
		return false;
	if (j->close_by < 0) {
		shutdown(h->connection, SHUT_WR);
		j->close_by = now_ms() + CLOSE_GRACE_MS;
	}
	return now_ms() < j->close_by;
}

static bool is_told(const struct job *j)
{
	bool sent = j->handler->connection >= 0 && outbox_used(&j->handler->out) == 0;
	return j->phase == JOB_REPORTING && (j->discard || sent || j->close_by >= 0);
}

static void check_clocks(struct job *j)
{
	int64_t now = now_ms();
	if (j->phase == JOB_RUNNING && j->deadline >= 0 && now >= j->deadline)
		job_stop(j, RESULT_TIMED_OUT);
	if (j->tree_left && now >= j->kill_again)
		exec_stop(j);
	if (j->closing >= 0 && now >= j->closing_by)
		client_closing(j);
	if (j->detached_until >= 0 && now >= j->detached_until)
		job_discard(j);
}

static bool has_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// Moves on as far as it can without waiting. False: nothing is left to do.
static bool advance(struct job *j)
{
	struct handler *h = j->handler;
	exec_reap(j);
	check_clocks(j);
	if (j->phase == JOB_DRAINING && (j->discard || (j->out_left == 0 && j->err_left == 0)))
		queue_result(j);
	if (h->connection >= 0 && !outbox_flush(&h->out, h->connection))
		client_gone(j);
	if (is_told(j) && !waits_for_close(j))
		begin_lingering(j);
	return j->phase != JOB_LINGERING || j->tree_left || j->closing >= 0 || j->out >= 0 || j->err >= 0 || has_children();
}

static int next_timeout(const struct job *j)
{
	int64_t end = j->phase == JOB_RUNNING ? j->deadline : -1;
	if (j->detached_until >= 0 && j->phase != JOB_LINGERING && (end < 0 || j->detached_until < end))
		end = j->detached_until;
	if (j->close_by >= 0 && j->phase == JOB_REPORTING)
		end = j->close_by;
	if (j->tree_left && (end < 0 || j->kill_again < end))
		end = j->kill_again;
	if (j->closing >= 0 && (end < 0 || j->closing_by < end))
		end = j->closing_by;
	int64_t left = end - now_ms();
	return end < 0 ? -1 : left < 0 ? 0 : (int)left;
}

enum { AT_CONTROL, AT_CLIENT, AT_OUT, AT_ERR, AT_IN, AT_CELL, AT_CLOSING, AT_ALL };

static bool wants_output(const struct job *j, size_t left)
{
	return output_fits(j) && (j->phase != JOB_DRAINING || left > 0);
}

static void wait_for_events(struct job *j, struct pollfd p[AT_ALL])
{
	struct handler *h = j->handler;
	bool sending = outbox_used(&h->out) > 0, hearing = client_may_speak(j);
	p[AT_CONTROL] = (struct pollfd){.fd = h->control, .events = POLLIN};
	p[AT_CLIENT] = (struct pollfd){.fd = h->connection, .events = (short)((hearing ? POLLIN : 0) | (sending ? POLLOUT : 0))};
	p[AT_OUT] = (struct pollfd){.fd = wants_output(j, j->out_left) ? j->out : -1, .events = POLLIN};
	p[AT_ERR] = (struct pollfd){.fd = wants_output(j, j->err_left) ? j->err : -1, .events = POLLIN};
	p[AT_IN] = (struct pollfd){.fd = j->input_start < j->input_end ? j->in : -1, .events = POLLOUT};
	p[AT_CLOSING] = (struct pollfd){.fd = j->closing, .events = POLLIN};
	p[AT_CELL] = (struct pollfd){.fd = j->cell, .events = POLLIN};
	int timeout = next_timeout(j);
	struct timespec t = {timeout / 1000, timeout % 1000 * 1000000L};
	sigset_t none; // a child's end may only interrupt us here
	sigemptyset(&none);
	if (ppoll(p, AT_ALL, timeout < 0 ? NULL : &t, &none) <= 0)
		memset(p, 0, AT_ALL * sizeof *p);
}

void job_loop(struct job *j)
{
	if (j->out >= 0)
		fcntl(j->out, F_SETFL, O_NONBLOCK);
	if (j->err >= 0)
		fcntl(j->err, F_SETFL, O_NONBLOCK);
	client_go_on(j); // what came in one piece with the request
	while (advance(j)) {
		struct pollfd p[AT_ALL];
		wait_for_events(j, p);
		if (p[AT_OUT].revents && j->out >= 0)
			read_pipe(j, &j->out, &j->out_left, FRAME_STDOUT);
		if (p[AT_ERR].revents && j->err >= 0 && wants_output(j, j->err_left))
			read_pipe(j, &j->err, &j->err_left, FRAME_STDERR);
		if (p[AT_IN].revents && j->in >= 0)
			write_input(j);
		if (p[AT_CELL].revents && j->cell >= 0)
			cell_readable(j);
		if (p[AT_CLOSING].revents && j->closing >= 0)
			client_closing(j);
		if (p[AT_CLIENT].revents && j->handler->connection >= 0)
			client_readable(j, p[AT_CLIENT].revents);
		if (p[AT_CONTROL].revents)
			client_control(j);
		if (p[AT_IN].revents)
			client_go_on(j);
		if (j->input_ended && j->in >= 0 && j->input_start == j->input_end) {
			close(j->in);
			j->in = -1;
		}
	}
}
