/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "types.h"
#include "cr_options.h"
#include "holder.h"

#define TAIL_MAX 3000
/* The client reads one short line; who does not take it within this time is gone. */
#define SEND_MS 2000

static void send_all(int conn, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(conn, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = conn, .events = POLLOUT };

			if (poll(&p, 1, SEND_MS) > 0)
				continue;
			return;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* the client has gone: restore_op() finds out by the missing "keep" */
		text += n;
		len -= n;
	}
}

/* Writes `s` as a JSON string. Bytes outside ASCII are hidden: a log need not be UTF-8. */
static size_t put_string(char *to, size_t room, const char *s)
{
	size_t n = 0;

	to[n++] = '"';
	for (; *s && n + 8 < room; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\') {
			to[n++] = '\\';
			to[n++] = c;
		} else if (c == '\n') {
			to[n++] = '\\';
			to[n++] = 'n';
		} else
			to[n++] = c < ' ' || c > '~' ? '?' : c;
	}
	to[n++] = '"';
	return n;
}

static void read_tail(const char *path, char *to, size_t room)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = 0;
	off_t end;

	if (fd >= 0) {
		end = lseek(fd, 0, SEEK_END);
		n = pread(fd, to, room - 1, end > (off_t)room - 1 ? end - (off_t)room + 1 : 0);
		close(fd);
	}
	to[n > 0 ? n : 0] = 0;
}

void reply_error(int conn, const char *error, const char *log_path)
{
	char tail[TAIL_MAX], out[2 * TAIL_MAX + 1024];
	size_t n;

	read_tail(log_path, tail, sizeof(tail));
	n = snprintf(out, sizeof(out), "{\"ok\":false,\"error\":");
	n += put_string(out + n, 512, error);
	n += snprintf(out + n, sizeof(out) - n, ",\"log\":");
	n += put_string(out + n, sizeof(out) - n - 4, tail);
	n += snprintf(out + n, sizeof(out) - n, "}\n");
	send_all(conn, out, n);
}

void reply_restored(int conn, pid_t pid, double ms, double fork_ms)
{
	char out[160];
	int n = snprintf(out, sizeof(out), "{\"ok\":true,\"pid\":%d,\"ms\":%.2f,\"fork_ms\":%.2f}\n", pid, ms, fork_ms);

	send_all(conn, out, n);
}

static int put_memory(char *to, size_t room)
{
	return snprintf(to, room,
			"\"pid\":%d,\"generation\":%u,\"tasks\":%zu,\"regions\":%zu,\"held_bytes\":%" PRIu64
			",\"populated_bytes\":%" PRIu64,
			getpid(), held.generation, held_tasks(), held.regions.nr, held_bytes(),
			held_populated_bytes());
}

void reply_derived(int conn, double ms, double fork_ms)
{
	char out[400];
	int n = snprintf(out, sizeof(out), "{\"ok\":true,");

	n += put_memory(out + n, sizeof(out) - n);
	n += snprintf(out + n, sizeof(out) - n, ",\"ms\":%.2f,\"fork_ms\":%.2f}\n", ms, fork_ms);
	send_all(conn, out, n);
}

void reply_stat(int conn, size_t in_flight)
{
	char out[400];
	int n = snprintf(out, sizeof(out), "{\"ok\":true,");

	n += put_memory(out + n, sizeof(out) - n);
	n += snprintf(out + n, sizeof(out) - n, ",\"in_flight\":%zu}\n", in_flight);
	send_all(conn, out, n);
}

void reply_done(int conn)
{
	send_all(conn, "{\"ok\":true}\n", 12);
}

void reply_kept(int conn)
{
	send_all(conn, "{\"kept\":true}\n", 14);
}

void reply_ready(FILE *out, double load_ms)
{
	char memory[300];

	put_memory(memory, sizeof(memory));
	fprintf(out, "{\"ready\":true,%s,\"load_ms\":%.2f}\n", memory, load_ms);
	fflush(out);
}

void print_log_tail(const char *log_path)
{
	char tail[TAIL_MAX];

	read_tail(log_path, tail, sizeof(tail));
	fprintf(stderr, "%s", tail);
}
