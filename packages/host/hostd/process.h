// SPDX-License-Identifier: Apache-2.0
// Processes named so that a reused pid is never mistaken for the one that was meant.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "fail.h"

// Clock ticks after boot at which the process started (field 22 of /proc/PID/stat).
int process_start_time(struct fail *f, pid_t pid, uint64_t *start_time);

// A pidfd of the process that has this pid AND this start time (0: any). FAIL_GONE otherwise.
int process_open(struct fail *f, pid_t pid, uint64_t start_time);

// In a forked child: default signal dispositions, nothing blocked, and SIGKILL when the parent dies.
void process_begin_child(pid_t parent);
