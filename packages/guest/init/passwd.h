// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { GROUPS_MAX = 64 };

struct account {
	uid_t uid;
	gid_t gid;
	gid_t groups[GROUPS_MAX];
	size_t group_count;
	char name[64];
	char home[PATH_BYTES + 1];
};

// "name", "uid", "name:group" or "uid:gid", looked up in the sandbox's own files without NSS (whose modules a
// static program would have to load from a hostile image). False: there is no such user or group.
bool account_find(const char *wanted, struct account *);
