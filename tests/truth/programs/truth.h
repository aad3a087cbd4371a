/* SPDX-License-Identifier: Apache-2.0 */
/* truth.py for C programs. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HERE "/tmp/truth/"

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "line %d: %s does not hold (errno: %s)\n", __LINE__, #condition, strerror(errno)); \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

static void say(const char *name, const char *text)
{
	char fresh[256], path[256];
	snprintf(fresh, sizeof fresh, HERE "%s.new", name);
	snprintf(path, sizeof path, HERE "%s", name);
	FILE *file = fopen(fresh, "w");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0 && rename(fresh, path) == 0);
}

static void checkpoint(void)
{
	CHECK(unlink(HERE "go") == 0 || errno == ENOENT);
	say("ready", "");
	while (access(HERE "go", F_OK) != 0)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void done(void)
{
	say("verdict", "ok");
}
