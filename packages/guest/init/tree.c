// SPDX-License-Identifier: Apache-2.0
#include "tree.h"
#include "clock.h"
#include "limits.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct process processes[TREE_MAX];

static bool read_stat(pid_t pid, struct process *p)
{
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	char *rest = strrchr(text, ')'); // the name may itself hold blanks and brackets
	char state;
	int parent;
	unsigned long long started;
	// proc(5): state is field 3, ppid 4, starttime 22
	if (!rest || sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			    &state, &parent, &started) != 3)
		return false;
	if (state == 'Z' || state == 'X')
		return false;
	*p = (struct process){.pid = pid, .parent = parent, .started = started};
	return true;
}

size_t tree_scan(struct process **all)
{
	size_t count = 0;
	*all = processes;
	DIR *proc = opendir("/proc");
	if (!proc)
		return 0;
	for (struct dirent *e; count < TREE_MAX && (e = readdir(proc)) != NULL;) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		if (read_stat((pid_t)atoi(e->d_name), &processes[count]))
			count++;
	}
	closedir(proc);
	return count;
}

static bool holds(struct pid_list list, pid_t pid)
{
	for (size_t i = 0; i < list.count; i++)
		if (list.pids[i] == pid)
			return true;
	return false;
}

static const struct process *find(const struct process *all, size_t count, pid_t pid)
{
	size_t low = 0, high = count; // /proc lists pids in ascending order
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && all[low].pid == pid ? &all[low] : NULL;
}

size_t tree_choose(struct process *all, size_t count, pid_t root, struct pid_list spare)
{
	size_t chosen = 0;
	for (bool more = true; more;) { // a parent may stand behind its child once pids have wrapped
		more = false;
		for (size_t i = 0; i < count; i++) {
			if (all[i].chosen || holds(spare, all[i].pid))
				continue;
			const struct process *parent = find(all, count, all[i].parent);
			if (all[i].parent == root || (parent && parent->chosen)) {
				all[i].chosen = more = true;
				chosen++;
			}
		}
	}
	return chosen;
}

// The pid may have found a new owner since the walk. A pidfd taken before the second look cannot be fooled.
static void signal_process(const struct process *p, int signal)
{
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (fd < 0)
		return;
	struct process again;
	if (read_stat(p->pid, &again) && again.started == p->started)
		syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
	close(fd);
}

bool tree_kill(pid_t root, struct pid_list spare, void (*after_round)(void *), void *context)
{
	int64_t end = now_ms() + TREE_KILL_MS;
	for (int round = 0;; round++) {
		struct process *all;
		size_t count = tree_scan(&all);
		if (tree_choose(all, count, root, spare) == 0) {
			if (after_round)
				after_round(context);
			return true;
		}
		// Stop first, so that a tree that forks faster than we read cannot run ahead of us.
		for (int pass = 0; pass < 2; pass++)
			for (size_t i = 0; i < count; i++)
				if (all[i].chosen)
					signal_process(&all[i], pass == 0 ? SIGSTOP : SIGKILL);
		if (after_round)
			after_round(context);
		if (now_ms() >= end)
			return false;
		if (round > 0)
			poll(NULL, 0, round < 10 ? 1 : 10);
	}
}
