// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "clock.h"
#include "interpreter.h"
#include "tree.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KERNELS = KERNEL_LANGUAGES, BEFORE_MAX = 2048, OWN_MAX = HANDLERS_MAX + 2 * KERNELS };

struct kernel {
	pid_t pid; // 0: none is running
	int control;
	bool busy;                  // a cell was handed to it and it has not said that it is idle
	struct handler_ref current; // whose cell that is
	int64_t kill_at;            // -1: no
	bool held;                  // its cell was stopped: no next turn before the sweep, or that would hit the next cell
	pid_t before[BEFORE_MAX];   // processes that were there when the cell began, for the sweep
	size_t before_count;
};

static struct kernel kernels[KERNELS] = {[0 ... KERNELS - 1] = {.control = -1, .kill_at = -1}};

static struct waiting {
	struct handler_ref handler;
	uint8_t kernel;
} queue[CELL_QUEUE_MAX];
static size_t queued;

static struct sweeper {
	pid_t pid;
	struct handler_ref handler;
	struct kernel *kernel;
} sweepers[KERNELS];

static struct sweeper *sweeper_of(const struct kernel *k)
{
	for (struct sweeper *s = sweepers; s < sweepers + KERNELS; s++)
		if (s->pid && s->kernel == k)
			return s;
	return NULL;
}

static bool same(struct handler_ref a, struct handler_ref b)
{
	return a.slot == b.slot && a.serial == b.serial;
}

static void tell(struct handler_ref handler, uint32_t kind, int32_t value)
{
	struct control c = {.kind = kind, .value = value};
	handler_tell(handler, &c, -1);
}

static void unqueue(size_t i)
{
	memmove(&queue[i], &queue[i + 1], (queued - i - 1) * sizeof *queue);
	queued--;
}

static bool start(struct kernel *k, const struct kernel_source *source)
{
	int control;
	pid_t pid = interpreter_start(source, &control);
	if (pid < 0)
		return false;
	*k = (struct kernel){.pid = pid, .control = control, .kill_at = -1};
	return true;
}

// ---- turns

// All that is ours: what a sweep below init must not touch.
static size_t own_processes(pid_t *pids)
{
	size_t count = handlers_pids(pids, HANDLERS_MAX);
	for (int i = 0; i < KERNELS; i++)
		pids[count++] = kernels[i].pid;
	for (int i = 0; i < KERNELS; i++)
		pids[count++] = sweepers[i].pid;
	return count;
}

// What the interpreter has running or has orphaned already when a cell begins.
static void remember_processes(struct kernel *k)
{
	static pid_t own[OWN_MAX];
	struct process *all;
	size_t count = tree_scan(&all);
	tree_choose(all, count, k->pid, (struct pid_list){0});
	tree_choose(all, count, 1, (struct pid_list){own, own_processes(own)});
	k->before_count = 0;
	for (size_t i = 0; i < count && k->before_count < BEFORE_MAX; i++)
		if (all[i].chosen)
			k->before[k->before_count++] = all[i].pid;
}

static bool give_turn(struct kernel *k, struct handler_ref handler)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	struct control go = {.kind = CONTROL_GO, .pid = k->pid};
	remember_processes(k);
	bool given = interpreter_give_turn(k->control, pair[1]) && handler_tell(handler, &go, pair[0]);
	close(pair[0]);
	close(pair[1]);
	k->busy = true;
	k->current = handler;
	k->kill_at = -1;
	return given;
}

static void next_turn(struct kernel *k)
{
	for (size_t i = 0; i < queued && !k->busy && !k->held; i++) {
		if (queue[i].kernel != k - kernels)
			continue;
		struct handler_ref handler = queue[i].handler;
		if (!k->pid && kernels_sweeping())
			return;
		if (!k->pid && !start(k, &kernel_sources[k - kernels])) {
			unqueue(i--);
			tell(handler, CONTROL_REFUSED, 0);
			continue;
		}
		if (k->control < 0)
			return; // it is on its way out; its end brings us here again
		unqueue(i--);
		if (!give_turn(k, handler))
			kill(k->pid, SIGKILL); // it does not take its turn; the handler learns of its end
	}
}

bool kernels_ask(struct handler_ref handler, const char *language)
{
	for (uint8_t i = 0; i < KERNELS; i++)
		if (strcmp(kernel_sources[i].language, language) == 0 && queued < CELL_QUEUE_MAX) {
			queue[queued++] = (struct waiting){handler, i};
			return true;
		}
	return false;
}

void kernels_stop_cell(struct handler_ref handler)
{
	for (size_t i = 0; i < queued; i++)
		if (same(queue[i].handler, handler)) {
			unqueue(i);
			tell(handler, CONTROL_CELL_DROPPED, 0);
			return;
		}
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
		if (k->pid && k->busy && same(k->current, handler) && k->kill_at < 0) {
			kill(k->pid, SIGINT);
			k->kill_at = now_ms() + INTERRUPT_GRACE_MS;
			k->held = true;
		}
}

void kernels_forget(struct handler_ref handler)
{
	for (size_t i = 0; i < queued; i++)
		if (same(queue[i].handler, handler))
			unqueue(i--);
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
		if (same(k->current, handler) && !sweeper_of(k))
			k->held = false;
}

// ---- the end of a cell that ran too long

// In a process of its own, since it takes several looks. What the cell started is either below the interpreter or,
// when the process between has ended, a child of init that init did not start.
__attribute__((noreturn)) static void sweep(const struct kernel *k)
{
	static pid_t spared[BEFORE_MAX + OWN_MAX + 1];
	size_t count = k->before_count;
	memcpy(spared, k->before, count * sizeof *spared);
	if (k->pid)
		tree_kill(k->pid, (struct pid_list){spared, count}, NULL, NULL);
	count += own_processes(spared + count);
	spared[count++] = getpid();
	tree_kill(1, (struct pid_list){spared, count}, NULL, NULL);
	_exit(0);
}

void kernels_sweep(struct handler_ref handler)
{
	struct kernel *k = kernels;
	while (k < kernels + KERNELS && !same(k->current, handler))
		k++;
	struct sweeper *s = sweepers;
	while (s < sweepers + KERNELS && s->pid)
		s++;
	bool possible = k < kernels + KERNELS && s < sweepers + KERNELS && !kernels_sweeping();
	pid_t pid = possible ? fork() : -1;
	if (pid == 0)
		sweep(k);
	if (pid > 0) {
		*s = (struct sweeper){pid, handler, k};
		return;
	}
	if (k < kernels + KERNELS)
		k->held = false;
	tell(handler, CONTROL_CELL_SWEPT, 0);
}

bool kernels_sweeping(void)
{
	for (struct sweeper *s = sweepers; s < sweepers + KERNELS; s++)
		if (s->pid)
			return true;
	return false;
}

static bool sweeper_reaped(pid_t pid)
{
	for (struct sweeper *s = sweepers; s < sweepers + KERNELS; s++)
		if (s->pid == pid) {
			tell(s->handler, CONTROL_CELL_SWEPT, 0);
			s->kernel->held = false;
			s->pid = 0;
			return true;
		}
	return false;
}

bool kernels_reaped(pid_t pid, int status)
{
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
		if (k->pid == pid) {
			if (k->control >= 0)
				close(k->control);
			if (k->busy)
				tell(k->current, CONTROL_CELL_GONE, status);
			k->pid = 0; // "current" and "before" stay for the sweep that may follow
			k->control = -1;
			k->busy = false;
			k->kill_at = -1;
			return true;
		}
	return sweeper_reaped(pid);
}

// ---- the loop of init

size_t kernels_poll(struct pollfd *polls)
{
	size_t count = 0;
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
		if (k->control >= 0)
			polls[count++] = (struct pollfd){.fd = k->control, .events = POLLIN};
	return count;
}

// The only word an interpreter has for init is one byte: its cell is done. What runs in there is not trusted; a
// false word costs nobody but its own sandbox.
void kernels_event(int control)
{
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++) {
		if (k->control != control)
			continue;
		uint8_t word;
		ssize_t n = recv(control, &word, 1, MSG_DONTWAIT);
		if (n == 1) {
			k->busy = false;
			k->kill_at = -1;
		} else if (n == 0) { // closed: it became another program (exec) or is ending
			close(k->control);
			k->control = -1;
			if (!k->busy)
				kill(k->pid, SIGKILL);
		}
	}
}

int64_t kernels_deadline(void)
{
	int64_t first = -1;
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
		if (k->kill_at >= 0 && (first < 0 || k->kill_at < first))
			first = k->kill_at;
	return first;
}

void kernels_advance(void)
{
	for (struct kernel *k = kernels; k < kernels + KERNELS; k++) {
		if (k->kill_at >= 0 && now_ms() >= k->kill_at) {
			k->kill_at = -1;
			kill(k->pid, SIGKILL);
		}
		next_turn(k);
	}
}

pid_t kernels_describe(char *language, size_t size)
{
	for (int i = 0; i < KERNELS; i++)
		if (kernels[i].pid) {
			strncpy(language, kernel_sources[i].language, size - 1);
			return kernels[i].pid;
		}
	return 0;
}
