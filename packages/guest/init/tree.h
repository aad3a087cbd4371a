// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// The living processes, as /proc shows them. Static: one walk at a time in one process.
struct process {
	pid_t pid, parent;
	unsigned long long started; // tells one owner of a pid from the next
	bool chosen;
};

struct pid_list {
	const pid_t *pids;
	size_t count;
};

// Fills an array that stays until the next call. Zombies are left out: there is nothing left to end.
size_t tree_scan(struct process **all);

// Marks the descendants of root. Branches that begin at a pid of "spare" are left alone.
size_t tree_choose(struct process *all, size_t count, pid_t root, struct pid_list spare);

// Ends every descendant of root (not root itself) except the spared branches, in rounds, until none is left
// or the time is over. after_round (may be NULL) is called between rounds, to reap. True: none left.
bool tree_kill(pid_t root, struct pid_list spare, void (*after_round)(void *), void *context);
