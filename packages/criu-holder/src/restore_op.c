/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One restore, in a fork of the holder. Either the client has taken the answer
 * and the tree lives, or nothing is left of it: this process kills the tree on
 * failure, on its deadline and when the client has gone; the holder does it
 * when this process dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "types.h"
#include "cr_options.h"
#include "crtools.h"
#include "log.h"
#include "pstree.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int __real_cr_restore_tasks(void);

static int client = -1;
static struct op_state *shared;

static void on_deadline(int sig)
{
	static const char late[] = "{\"ok\":false,\"error\":\"the deadline has passed\",\"log\":\"\"}\n";
	ssize_t n;

	if (shared->settled)
		_exit(0);
	if (shared->root)
		kill(shared->root, SIGKILL);
	n = send(client, late, sizeof(late) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n; /* a client that has gone needs no answer */
	/* criu's own daemons are in our process group; so are we. */
	kill(0, SIGKILL);
	_exit(1);
}

static int start_deadline(unsigned ms)
{
	struct sigaction act = { .sa_handler = on_deadline };
	struct itimerval timer = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	return sigaction(SIGALRM, &act, NULL) || setitimer(ITIMER_REAL, &timer, NULL) ? -1 : 0;
}

/*
 * criu has blocked all signals but SIGCHLD by now. Its children must keep it
 * so, we need our deadline; if it has passed already it is delivered here.
 */
void restore_root_born(pid_t pid)
{
	sigset_t set;

	shared->root = pid;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	if (sigprocmask(SIG_UNBLOCK, &set, NULL))
		pr_perror("Can't unblock SIGALRM");
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ok, saved;

	if (fd < 0)
		return -1;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	saved = errno;
	close(fd);
	errno = saved;
	return ok ? 0 : -1;
}

/* NULL, or what could not be set up (errno says why). */
static const char *set_up(const struct request *rq)
{
	char text[16];
	size_t i;

	if (setpgid(0, 0) || start_deadline(rq->deadline_ms))
		return "the deadline";
	/*
	 * Always written, since it also sets how far down the tasks may go again:
	 * they must not inherit the protection of the holder. criu sets the value
	 * of the image where that is not 0.
	 */
	snprintf(text, sizeof(text), "%d", rq->oom_score);
	if (write_file("/proc/self/oom_score_adj", text)) {
		/* Without CAP_SYS_RESOURCE it can't be lowered: then the tree is as easy a victim as we are. */
		if (errno != EACCES)
			return "oom_score";
		pr_warn("May not set oom_score_adj to %s\n", text);
	}
	for (i = 0; i < rq->nr_cgroup; i++)
		if (write_file(rq->cgroup[i], "0"))
			return rq->cgroup[i];
	/* criu leaves cgroup namespaces alone when it does not manage cgroups; the tree must not see the host's paths. */
	if (rq->nr_cgroup && unshare(CLONE_NEWCGROUP))
		return "a cgroup namespace";
	if (rq->work && chdir(rq->work))
		return "work";
	if (log_init(rq->log))
		return "log";
	opts.root = (char *)rq->root;
	opts.pidfile = (char *)rq->pidfile;
	opts.output = (char *)rq->log;
	if (rq->has_uid)
		userns_use_base(rq->uid);
	return NULL;
}

bool client_keeps(int conn, double until)
{
	char answer[5];
	size_t got = 0;

	while (got < sizeof(answer)) {
		struct pollfd p = { .fd = conn, .events = POLLIN };
		double left = until - now_ms();
		ssize_t n = left > 0 ? poll(&p, 1, left + 1) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		n = read(conn, answer + got, sizeof(answer) - got);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return false;
		got += n;
	}
	return !memcmp(answer, "keep\n", sizeof(answer));
}

void restore_op(int conn, const struct request *rq, struct op_state *state, double accepted)
{
	double forked = now_ms();
	const char *what;
	char text[400];

	client = conn;
	shared = state;
	what = set_up(rq);
	if (what) {
		snprintf(text, sizeof(text), "can't set up the restore: %.250s: %s", what, strerror(errno));
		reply_error(conn, text, NULL);
		_exit(1);
	}
	new_net_configure(conn, rq);
	restoring_from_held = true;

	if (__real_cr_restore_tasks()) {
		reply_error(conn, "criu could not restore the tree", rq->log);
		_exit(1);
	}
	reply_restored(conn, root_item->pid->real, now_ms() - accepted, forked - accepted);
	if (client_keeps(conn, accepted + rq->deadline_ms)) {
		state->settled = 1;
		reply_kept(conn);
		_exit(0);
	}
	pr_err("The client has not taken the answer: killing the tree\n");
	kill(root_item->pid->real, SIGKILL);
	waitpid(root_item->pid->real, NULL, 0);
	_exit(1);
}
