// SPDX-License-Identifier: Apache-2.0
#include "bytes.h"
#include "clock.h"
#include "control.h"
#include "handler.h"
#include "limits.h"
#include "protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Files in and out. All of it happens inside the sandbox's own root with the sandbox's own rights: a link planted
// there leads to nowhere else.

enum { UNSIZED_MAX = 1024 * 1024 }; // files of /proc and /sys say that they are empty

static char temporary[PATH_BYTES + 32];

__attribute__((noreturn)) static void fail(struct handler *h, const char *what, const char *path, int error)
{
	char text[900];
	if (temporary[0])
		unlink(temporary);
	snprintf(text, sizeof text, "cannot %s %.700s: %s", what, path, strerror(error));
	handler_fail(h, error == ENOENT ? "not_found" : "file_error", text);
}

__attribute__((noreturn)) static void abandon(struct handler *h, const char *why)
{
	if (temporary[0])
		unlink(temporary);
	handler_fail(h, "interrupted", why);
}

// Waits until the connection can be read or written. Ends the transfer when a checkpoint cannot wait any longer.
static void wait_for(struct handler *h, short events, int64_t *must_end)
{
	int64_t idle_end = now_ms() + TRANSFER_IDLE_MS;
	for (;;) {
		int64_t end = *must_end >= 0 && *must_end < idle_end ? *must_end : idle_end, left = end - now_ms();
		struct pollfd p[2] = {{.fd = h->connection, .events = events}, {.fd = h->control, .events = POLLIN}};
		if (left <= 0)
			abandon(h, end == idle_end ? "nothing moved for 60 s" : "a checkpoint could not wait for the transfer");
		poll(p, 2, (int)left);
		if (p[1].revents) {
			struct control c;
			int fd, got = control_receive(h->control, &c, &fd);
			if (fd >= 0)
				close(fd);
			if (got < 0)
				abandon(h, "init is gone");
			if (got == 1 && c.kind == CONTROL_DETACH)
				*must_end = now_ms() + c.millis;
		}
		if (p[0].revents)
			return;
	}
}

static void make_parents(struct handler *h, char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = 0;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			fail(h, "make the directory", path, errno);
		*at = '/';
	}
}

// Where the bytes go: through a link to the file behind it, as a shell's ">" does.
static char *target_of(struct handler *h, struct stat *old, bool *exists)
{
	char *path = h->request.path;
	make_parents(h, path);
	*exists = stat(path, old) == 0;
	if (!*exists)
		return path;
	if (!S_ISREG(old->st_mode))
		fail(h, "replace", path, S_ISDIR(old->st_mode) ? EISDIR : EINVAL);
	char *real = realpath(path, NULL);
	if (!real)
		fail(h, "replace", path, errno);
	return real;
}

static int open_temporary(struct handler *h, const char *target)
{
	const char *slash = strrchr(target, '/');
	int directory = slash ? (int)(slash - target) + 1 : 0;
	snprintf(temporary, sizeof temporary, "%.*s.collimate-XXXXXX", directory, target);
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		temporary[0] = 0;
		fail(h, "write beside", target, errno);
	}
	return fd;
}

static void write_all(struct handler *h, int fd, const struct frame *f)
{
	for (size_t done = 0; done < f->length;) {
		ssize_t n = write(fd, f->payload + done, f->length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail(h, "write", h->request.path, errno);
		done += (size_t)n;
	}
}

static uint64_t receive_file(struct handler *h, int fd)
{
	int64_t must_end = -1;
	uint64_t total = 0;
	for (;;) {
		struct frame f;
		int got = inbox_next(&h->in, &f);
		if (got < 0 || (got == 1 && f.type != FRAME_DATA && f.type != FRAME_DATA_END))
			abandon(h, "an unexpected frame came in the middle of a file");
		if (got == 1 && f.type == FRAME_DATA_END)
			return total;
		if (got == 1) {
			write_all(h, fd, &f);
			total += f.length;
			continue;
		}
		if (h->in.ended)
			abandon(h, "the client went away in the middle of a file");
		wait_for(h, POLLIN, &must_end);
		inbox_fill(&h->in, h->connection);
	}
}

void operation_put(struct handler *h)
{
	struct stat old;
	bool exists;
	if (chdir("/") < 0)
		fail(h, "enter", "/", errno);
	char *target = target_of(h, &old, &exists);
	int fd = open_temporary(h, target);
	uint64_t total = receive_file(h, fd);
	mode_t mode = h->request.has_mode ? h->request.mode : exists ? old.st_mode & 07777 : 0644;
	if (exists && fchown(fd, old.st_uid, old.st_gid) < 0)
		fail(h, "keep the owner of", target, errno);
	if (fchmod(fd, mode) < 0 || close(fd) < 0 || rename(temporary, target) < 0)
		fail(h, "put", target, errno);
	temporary[0] = 0;

	uint8_t bytes[32];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u64(&w, TAG_FILE_SIZE, total);
	handler_finish(h, FRAME_REPLY, &w);
}

static void send_head(struct handler *h, const struct stat *s)
{
	uint8_t bytes[64];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u64(&w, TAG_FILE_SIZE, (uint64_t)s->st_size);
	tlv_put_u32(&w, TAG_FILE_MODE, s->st_mode & 07777);
	outbox_put(&h->out, FRAME_REPLY, w.data, w.length);
}

static void send_file(struct handler *h, int fd, uint64_t most)
{
	int64_t must_end = -1;
	for (uint64_t sent = 0; sent < most;) {
		size_t want = most - sent < OUTPUT_CHUNK ? (size_t)(most - sent) : OUTPUT_CHUNK;
		ssize_t n = read(fd, outbox_reserve(&h->out, OUTPUT_CHUNK), want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail(h, "read", h->request.path, errno);
		if (n == 0)
			return;
		outbox_commit(&h->out, FRAME_DATA, (size_t)n);
		sent += (uint64_t)n;
		while (outbox_used(&h->out) > OUTPUT_ATTACHED) {
			wait_for(h, POLLOUT, &must_end);
			if (!outbox_flush(&h->out, h->connection))
				_exit(0);
		}
	}
}

void operation_get(struct handler *h)
{
	struct stat s;
	const char *path = h->request.path;
	if (chdir("/") < 0)
		fail(h, "enter", "/", errno);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &s) < 0)
		fail(h, "read", path, errno);
	if (!S_ISREG(s.st_mode))
		fail(h, "read", path, S_ISDIR(s.st_mode) ? EISDIR : EINVAL);
	send_head(h, &s);
	send_file(h, fd, s.st_size ? (uint64_t)s.st_size : UNSIZED_MAX);
	handler_finish(h, FRAME_DATA_END, &(struct tlv_writer){0});
}
