// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "request.h"
#include <stdbool.h>
#include <sys/types.h>

struct stdio {
	int in, out, err;
};

void spawn_remember_limits(void); // called once by init, before it raises its own file limit

// The request's environment over the inherited one. Never freed: a handler runs one command.
char **environment_build(const struct request *, char **inherited, const char *const *defaults);

// Starts the request's command in a session of its own. What goes wrong after the fork (no such program, no such
// user, no such directory) is told by the child on its stderr with exit code 127 or 126, as a shell does.
// stdio descriptors stay the caller's. -1: the process could not be made.
pid_t spawn_command(const struct request *, char *const argv[], char **env, struct stdio);

// In a fresh child: signals, file limit and umask as a program expects them.
void spawn_reset_process(void);

// execve over PATH like execvp, but with an environment of its own. Returns errno.
int spawn_execute(char *const argv[], char *const env[]);

const char *environment_get(char *const env[], const char *name);
