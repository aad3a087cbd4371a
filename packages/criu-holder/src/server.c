/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The holder's loop. It reads requests and forks; it does nothing that takes
 * time, and it writes to no held page, which would take that page out of
 * sharing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "types.h"
#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define CONNS_MAX 64
#define BACKLOG 256
#define REQUEST_MS 5000

struct conn {
	int fd;
	double accepted;
	size_t len;
	char text[REQUEST_MAX + 1];
};

struct server {
	int listen_fd, signal_fd;
	struct conn *conns[CONNS_MAX];
	size_t nr_conns;
	sigset_t old_mask;
	bool quit;
};

double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int listen_on(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd, bad;

	if (strlen(path) >= sizeof(a.sun_path)) {
		pr_err("The socket path is longer than %zu bytes: %s\n", sizeof(a.sun_path) - 1, path);
		return -1;
	}
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		pr_perror("Can't make a socket");
		return -1;
	}
	/* What an earlier holder left there. */
	if (unlink(path) && errno != ENOENT) {
		pr_perror("Can't remove %s", path);
		close(fd);
		return -1;
	}
	mask = umask(0177);
	bad = bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, BACKLOG);
	umask(mask);
	if (bad) {
		pr_perror("Can't listen on %s", path);
		close(fd);
		return -1;
	}
	return fd;
}

static int server_init(struct server *s, int listen_fd)
{
	sigset_t set;

	*s = (struct server){ .listen_fd = listen_fd, .signal_fd = -1 };
	if (ops_init())
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0 || sigprocmask(SIG_BLOCK, &set, &s->old_mask)) {
		pr_perror("Can't watch for SIGCHLD");
		return -1;
	}
	return 0;
}

static void conn_drop(struct server *s, size_t i)
{
	close(s->conns[i]->fd);
	free(s->conns[i]);
	s->conns[i] = s->conns[--s->nr_conns];
}

/* In a fork: lets go of all that is the holder's but the connection in `mine`. */
static void leave_server(struct server *s, const struct conn *mine)
{
	size_t i;

	close(s->listen_fd);
	close(s->signal_fd);
	ops_leave();
	for (i = 0; i < s->nr_conns; i++)
		if (s->conns[i] != mine)
			close(s->conns[i]->fd);
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

/*
 * Forks for a restore or a derive. In the parent -1; in a fork that has become
 * a holder the descriptor that it listens on.
 */
static int start_op(struct server *s, struct conn *c, const struct request *rq)
{
	int slot, fd;
	struct op_state *state = op_reserve(&slot);
	pid_t pid;

	if (!state) {
		reply_error(c->fd, "busy: too many requests at a time", NULL);
		return -1;
	}
	pid = fork();
	if (pid < 0) {
		reply_error(c->fd, "the holder can't fork", NULL);
		return -1;
	}
	if (pid) {
		op_begin(slot, pid, rq, rq->verb == VERB_RESTORE ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : -1);
		return -1;
	}
	leave_server(s, c);
	if (rq->verb == VERB_RESTORE)
		restore_op(c->fd, rq, state, c->accepted);
	fd = derive_op(c->fd, rq, c->accepted);
	if (fd < 0)
		_exit(1);
	state->settled = 1;
	return fd;
}

/* As start_op(). */
static int handle_request(struct server *s, struct conn *c)
{
	struct request rq;
	const char *error;

	c->text[c->len] = 0;
	if (strlen(c->text) != c->len || strstr(c->text, "\n\n") + 2 != c->text + c->len) {
		reply_error(c->fd, "bytes behind the end of the request", NULL);
		return -1;
	}
	error = request_parse(c->text, &rq);
	if (error) {
		reply_error(c->fd, error, NULL);
		return -1;
	}
	switch (rq.verb) {
	case VERB_STAT:
		reply_stat(c->fd, ops_in_flight());
		return -1;
	case VERB_QUIT:
		reply_done(c->fd);
		s->quit = true;
		return -1;
	default:
		return start_op(s, c, &rq);
	}
}

static bool request_complete(const struct conn *c)
{
	return memmem(c->text, c->len, "\n\n", 2) != NULL;
}

/* True when the connection is to be dropped; *derived is set in a fork that has become a holder. */
static bool read_conn(struct server *s, struct conn *c, int *derived)
{
	ssize_t n = read(c->fd, c->text + c->len, REQUEST_MAX - c->len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0)
		return true;
	c->len += n;
	if (request_complete(c)) {
		*derived = handle_request(s, c);
		return true;
	}
	if (c->len == REQUEST_MAX) {
		reply_error(c->fd, "the request is too long", NULL);
		return true;
	}
	return false;
}

static void accept_conn(struct server *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct conn *c;

	if (fd < 0)
		return;
	c = malloc(sizeof(*c));
	if (!c) {
		reply_error(fd, "no memory", NULL);
		close(fd);
		return;
	}
	c->fd = fd;
	c->len = 0;
	c->accepted = now_ms();
	s->conns[s->nr_conns++] = c;
}

/* Our forks, and as subreaper the trees whose fork is done. */
static void reap(struct server *s)
{
	struct signalfd_siginfo ignored;

	while (read(s->signal_fd, &ignored, sizeof(ignored)) > 0)
		;
	ops_reap();
}

/* Ends what is over its time; returns how long until there is something to end again, in ms. */
static int enforce_deadlines(struct server *s)
{
	double now = now_ms(), next = ops_enforce(now);
	size_t i = 0;

	while (i < s->nr_conns) {
		double end = s->conns[i]->accepted + REQUEST_MS;

		if (end < now) {
			conn_drop(s, i);
			continue;
		}
		if (end < next)
			next = end;
		i++;
	}
	return (int)(next - now) + 1;
}

/* This process is a fork that has become a holder: nothing of the parent's server is ours. */
static int start_over(struct server *s, int listen_fd)
{
	size_t i;

	for (i = 0; i < s->nr_conns; i++)
		free(s->conns[i]);
	if (signal(SIGHUP, SIG_IGN) == SIG_ERR)
		return -1;
	return server_init(s, listen_fd);
}

static int serve_once(struct server *s)
{
	int timeout = enforce_deadlines(s);
	struct pollfd p[2 + CONNS_MAX];
	size_t i;

	p[0] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = s->nr_conns < CONNS_MAX ? s->listen_fd : -1, .events = POLLIN };
	for (i = 0; i < s->nr_conns; i++)
		p[2 + i] = (struct pollfd){ .fd = s->conns[i]->fd, .events = POLLIN };
	if (poll(p, 2 + s->nr_conns, timeout) < 0)
		return errno == EINTR ? 0 : -1;

	if (p[0].revents)
		reap(s);
	/* Backwards: dropping one puts the last in its place. */
	for (i = s->nr_conns; i-- > 0;) {
		int derived = -1;

		if (p[2 + i].revents && read_conn(s, s->conns[i], &derived)) {
			if (derived >= 0) {
				close(s->conns[i]->fd);
				return start_over(s, derived);
			}
			conn_drop(s, i);
		}
	}
	if (p[1].revents)
		accept_conn(s);
	return 0;
}

int serve(int listen_fd)
{
	struct server *s = malloc(sizeof(*s));

	if (!s || server_init(s, listen_fd)) {
		pr_perror("Can't start serving");
		return -1;
	}
	while (!s->quit)
		if (serve_once(s)) {
			pr_perror("The holder's loop failed");
			return -1;
		}
	return 0;
}
