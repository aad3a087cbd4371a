// SPDX-License-Identifier: Apache-2.0
// Idmapped mounts of directories: the layers an overlay is made of.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fail.h"

#define LAYERS_MAX 400 // the kernel's own bound is 500 (OVL_MAX_STACK)

struct layers {
    int fds[LAYERS_MAX + 1];
    size_t count;
    bool attached;  // see layers_attach()
    char place[32]; // where, "" when not
};

// Adds a detached mount of `path` (that directory only, nothing mounted below it) whose ids go through userns_fd.
int layers_add(struct fail *f, struct layers *layers, const char *path, int userns_fd);

// Gives the detached mounts a place in this mount namespace: before Linux 6.15 an overlay refuses layers
// that are not in its maker's namespace (clone_private_mount, fs/namespace.c).
int layers_attach(struct fail *f, struct layers *layers);

// The overlay holds clones of its own, so the mounts can go as soon as it is made.
void layers_release(struct layers *layers);
