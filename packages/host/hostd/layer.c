// SPDX-License-Identifier: Apache-2.0
#include "layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

int layers_add(struct fail *f, struct layers *layers, const char *path, int userns_fd)
{
    struct mount_attr idmap = {
        .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)userns_fd, .propagation = MS_PRIVATE};

    if (layers->count > LAYERS_MAX)
        return fail(f, FAIL_REQUEST, "more than %d layers", LAYERS_MAX);
    int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    if (fd < 0)
        return fail_errno(f, "open_tree of layer %s", path);
    layers->fds[layers->count++] = fd;
    if (mount_setattr(fd, "", AT_EMPTY_PATH, &idmap, sizeof idmap) < 0)
        return fail_errno(f, "idmap of layer %s (does its file system support idmapped mounts?)", path);
    return 0;
}

// A small tmpfs of our own holds one directory a layer; unmounting it takes all of them along.
int layers_attach(struct fail *f, struct layers *layers)
{
    char at[64];

    strcpy(layers->place, "/tmp/collimate-layers.XXXXXX");
    if (!mkdtemp(layers->place)) {
        layers->place[0] = '\0';
        return fail_errno(f, "mkdtemp for layers");
    }
    if (mount("collimate-layers", layers->place, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0700") < 0)
        return fail_errno(f, "tmpfs at %s", layers->place);
    layers->attached = true;
    if (mount(NULL, layers->place, NULL, MS_PRIVATE, NULL) < 0)
        return fail_errno(f, "make %s private", layers->place);
    for (size_t i = 0; i < layers->count; i++) {
        snprintf(at, sizeof at, "%s/%zu", layers->place, i);
        if (mkdir(at, 0700) < 0 || move_mount(layers->fds[i], "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
            return fail_errno(f, "attach of a layer at %s", at);
    }
    return 0;
}

void layers_release(struct layers *layers)
{
    if (layers->attached)
        umount2(layers->place, MNT_DETACH);
    if (layers->place[0])
        rmdir(layers->place);
    for (size_t i = 0; i < layers->count; i++)
        close(layers->fds[i]);
    layers->count = 0;
    layers->attached = false;
    layers->place[0] = '\0';
}
