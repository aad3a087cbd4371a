/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that forks of this holder are serving: their deadlines, and what is
 * left to kill when one ends badly.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "types.h"
#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define OPS_MAX 256
/* The fork ends itself at its deadline; this much later the holder does it. */
#define GRACE_MS 3000

static struct op {
	pid_t pid; /* 0: free */
	enum verb verb;
	int conn; /* ours too until the fork is reaped, so that its end says: all is over; or -1 */
	double kill_at;
} ops[OPS_MAX];
static struct op_state *states; /* one per op, shared with its fork */

int ops_init(void)
{
	size_t i;

	/* In a fork that has become a holder: those of the parent are not ours. */
	if (states)
		munmap(states, OPS_MAX * sizeof(*states));
	for (i = 0; i < OPS_MAX; i++)
		ops[i] = (struct op){};
	states = mmap(NULL, OPS_MAX * sizeof(*states), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (states != MAP_FAILED)
		return 0;
	states = NULL;
	pr_perror("No memory to share with forks");
	return -1;
}

size_t ops_in_flight(void)
{
	size_t i, n = 0;

	for (i = 0; i < OPS_MAX; i++)
		n += ops[i].pid != 0;
	return n;
}

static int op_of(pid_t pid)
{
	int i;

	for (i = 0; i < OPS_MAX; i++)
		if (ops[i].pid == pid)
			return i;
	return -1;
}

struct op_state *op_reserve(int *slot)
{
	*slot = op_of(0);
	if (*slot < 0)
		return NULL;
	states[*slot] = (struct op_state){};
	return &states[*slot];
}

void op_begin(int slot, pid_t pid, const struct request *rq, int conn)
{
	ops[slot] = (struct op){
		.pid = pid, .verb = rq->verb, .conn = conn, .kill_at = now_ms() + rq->deadline_ms + GRACE_MS
	};
}

static void op_end(int slot)
{
	if (ops[slot].conn >= 0)
		close(ops[slot].conn);
	ops[slot].pid = 0;
}

void ops_leave(void)
{
	int i;

	for (i = 0; i < OPS_MAX; i++)
		if (ops[i].pid)
			op_end(i);
}

/*
 * What the fork has made and nobody has taken: criu's daemons share its process
 * group; the tree's first process is, by then, our own child.
 */
static void kill_rest(int slot)
{
	if (states[slot].settled)
		return;
	if (states[slot].root)
		kill(states[slot].root, SIGKILL);
	kill(-ops[slot].pid, SIGKILL);
}

void ops_reap(void)
{
	siginfo_t info;

	while (1) {
		int slot;

		/* Looked at before it is reaped: until then its pid and its group's id are not reused. */
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
			return;
		slot = op_of(info.si_pid);
		if (slot >= 0) {
			if (info.si_code != CLD_EXITED || info.si_status)
				kill_rest(slot);
		}
		waitpid(info.si_pid, NULL, 0);
		if (slot >= 0)
			op_end(slot);
	}
}

double ops_enforce(double now)
{
	double next = now + 3600000;
	size_t i;

	for (i = 0; i < OPS_MAX; i++) {
		struct op *op = &ops[i];

		if (!op->pid)
			continue;
		if (op->verb == VERB_DERIVE && states[i].settled) {
			op_end(i); /* a holder in its own right */
			continue;
		}
		if (op->kill_at < now) {
			kill(op->pid, SIGKILL);
			kill_rest(i);
			op->kill_at = now + GRACE_MS;
		}
		if (op->kill_at < next)
			next = op->kill_at;
	}
	return next;
}
