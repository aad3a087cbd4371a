// SPDX-License-Identifier: Apache-2.0
#include "bytes.h"
#include "control.h"
#include "job.h"
#include "protocol.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A cell: code that runs in the persistent interpreter. Init gives us our turn; the rest is between us and it.

enum { CELL_ENDED = 1, CELL_SEEDED = 2, CELL_BEGUN = 4, TURNS_MAX = 3 };

static bool ask_for_turn(struct job *j)
{
	struct control c = {.kind = CONTROL_CELL, .language = "python"};
	return control_send(j->handler->control, &c, -1);
}

bool cell_start(struct job *j)
{
	int out[2], err[2];
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return false;
	j->out = out[0];
	j->err = err[0];
	j->cell_out = out[1];
	j->cell_err = err[1];
	return ask_for_turn(j);
}

static bool write_whole(int fd, const void *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(fd, (const uint8_t *)bytes + done, length - done);
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool write_field(int fd, uint8_t tag, const void *value, size_t length)
{
	uint8_t head[5] = {tag};
	store_u32(head + 1, (uint32_t)length);
	return write_whole(fd, head, sizeof head) && write_whole(fd, value, length);
}

// What the interpreter needs, as the same TLVs, in a memory file: nothing large ever waits in a socket.
static int describe(const struct request *r)
{
	int fd = (int)syscall(SYS_memfd_create, "collimate-cell", MFD_CLOEXEC);
	bool fine = fd >= 0 && write_field(fd, TAG_CODE, r->code, r->code_length);
	for (size_t i = 0; fine && i < r->envc; i++)
		fine = write_field(fd, TAG_ENV, r->env[i], strlen(r->env[i]));
	if (fine && r->cwd)
		fine = write_field(fd, TAG_CWD, r->cwd, strlen(r->cwd));
	if (fine && r->has_seed)
		fine = write_field(fd, TAG_SEED, r->seed, sizeof r->seed);
	if (fine && r->settle)
		fine = write_field(fd, TAG_SETTLE, "", 0);
	if (!fine && fd >= 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool send_cell(int socket, const int fds[3])
{
	uint8_t word = 'C';
	struct iovec part = {&word, 1};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} ancillary = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(3 * sizeof(int));
	memcpy(CMSG_DATA(head), fds, 3 * sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

// The result is known, but what a stopped cell has started must be gone before it is told.
static void over(struct job *j)
{
	j->answered = true;
	close_and_forget(&j->cell);
	struct control sweep = {.kind = CONTROL_CELL_SWEEP};
	if (!j->stopping || !control_send(j->handler->control, &sweep, -1))
		job_ended(j);
}

static void go(struct job *j, const struct control *c, int socket)
{
	int fds[3] = {describe(&j->handler->request), j->cell_out, j->cell_err};
	j->cell = socket;
	j->pid = c->pid;
	bool first = j->turns++ == 0;
	if (j->stopping) { // the time was up just before our turn: an empty turn, then
		close_and_forget(&fds[0]);
		j->exit_code = 128 + SIGKILL;
		over(j);
		return;
	}
	if (fds[0] < 0) { // the interpreter sees the socket end and goes on to the next cell
		j->note = "collimate: the sandbox has no memory left to hand the code to the interpreter\n";
		close_and_forget(&j->cell);
		j->exit_code = 126;
		job_ended(j);
		return;
	}
	if (!send_cell(socket, fds))
		close_and_forget(&j->cell); // it is dying; init will tell how it ended
	close_and_forget(&fds[0]);
	if (first)
		job_started(j);
}

// From the interpreter, once when it begins and once at the end: state u8, three bytes of nothing, exit code i32.
// It may also just be gone. True: there was an answer.
static bool read_answer(struct job *j)
{
	uint8_t bytes[8];
	ssize_t n = recv(j->cell, bytes, sizeof bytes, MSG_DONTWAIT); // a stream, but 8 bytes are sent in one piece
	if (n == (ssize_t)sizeof bytes && (bytes[0] & CELL_BEGUN)) {
		j->begun = true;
		close_and_forget(&j->cell_out);
		close_and_forget(&j->cell_err);
	} else if (n == (ssize_t)sizeof bytes && (bytes[0] & CELL_ENDED)) {
		j->exit_code = (int)(load_u32(bytes + 4) & 0xff);
		if (bytes[0] & CELL_SEEDED)
			j->seed_ack = "partial"; // what the interpreter's own generators draw; nothing beyond is proven
		over(j);
	} else if (n >= 0) {
		close_and_forget(&j->cell); // init will tell how it ended
	}
	return n == (ssize_t)sizeof bytes;
}

void cell_readable(struct job *j)
{
	read_answer(j);
}

static void say_why(struct job *j, bool found)
{
	static char text[200];
	const char *rest = "its state is gone, the next exec starts a fresh one";
	if (!found)
		snprintf(text, sizeof text, "collimate: there is no python3 in this image's PATH\n");
	else if (j->stopping)
		snprintf(text, sizeof text, "collimate: the code did not stop when interrupted, so its interpreter was killed; %s\n", rest);
	else if (j->signal)
		snprintf(text, sizeof text, "collimate: the interpreter was killed by signal %d (%s); %s\n", j->signal,
			 sigabbrev_np(j->signal) ? sigabbrev_np(j->signal) : "?", rest);
	else
		snprintf(text, sizeof text, "collimate: the interpreter ended with exit code %d; %s\n", j->exit_code, rest);
	j->note = text;
}

static void gone(struct job *j, int status)
{
	while (j->cell >= 0 && read_answer(j))
		; // its last words may lie in the socket still
	if (j->answered)
		return;
	close_and_forget(&j->cell);
	// Not begun: it was dying already, of what an earlier cell had left in it. The next one may have this cell.
	bool found = j->begun || !WIFEXITED(status) || WEXITSTATUS(status) != 127;
	if (!j->begun && !j->stopping && found && j->turns < TURNS_MAX && ask_for_turn(j))
		return;
	j->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	j->exit_code = j->signal ? 128 + j->signal : WEXITSTATUS(status);
	j->flags |= RESULT_INTERPRETER_LOST;
	if (j->signal == SIGKILL && !j->stopping)
		j->flags |= RESULT_KILLED_FROM_OUTSIDE;
	say_why(j, found);
	over(j);
}

void cell_control(struct job *j, const struct control *c, int passed_fd)
{
	bool ours = false;
	if (j->phase == JOB_RUNNING)
		switch (c->kind) {
		case CONTROL_GO:
			ours = passed_fd >= 0;
			if (ours)
				go(j, c, passed_fd);
			break;
		case CONTROL_REFUSED:
			j->note = "collimate: too many cells wait for the interpreter\n";
			j->exit_code = 126;
			job_ended(j);
			break;
		case CONTROL_CELL_DROPPED:
			j->note = "collimate: stopped while waiting for an earlier cell to end\n";
			j->exit_code = 128 + SIGKILL;
			job_ended(j);
			break;
		case CONTROL_CELL_GONE:
			gone(j, c->value);
			break;
		case CONTROL_CELL_SWEPT:
			job_ended(j);
			break;
		default:
			break;
		}
	if (!ours && passed_fd >= 0)
		close(passed_fd);
}

void cell_stop(struct job *j)
{
	struct control c = {.kind = CONTROL_CELL_STOP};
	control_send(j->handler->control, &c, -1);
}
