// SPDX-License-Identifier: Apache-2.0
#include "userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "request.h"

static struct userns *slots[SLOTS_MAX];
static int slots_held;

int userns_count(void) { return slots_held; }

static int write_file(struct fail *f, const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return fail_errno(f, "open of %s", path);
    ssize_t written = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return written < 0 ? fail_errno(f, "write of \"%s\" to %s", text, path) : 0;
}

int userns_write_maps(struct fail *f, pid_t pid, uint32_t base, uint32_t count)
{
    char path[40], map[40];

    snprintf(map, sizeof map, "0 %u %u", base, count);
    snprintf(path, sizeof path, "/proc/%d/uid_map", (int)pid);
    if (write_file(f, path, map) < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/gid_map", (int)pid);
    return write_file(f, path, map);
}

// A namespace is born with a process: one that sleeps until its namespace has been opened from outside.
static pid_t start_sleeper(void)
{
    pid_t parent = getpid();
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        for (;;)
            pause();
    }
    return pid;
}

static int make(struct fail *f, uint32_t base, uint32_t count)
{
    char path[40];
    int fd = -1;
    pid_t pid = start_sleeper();

    if (pid < 0)
        return fail_errno(f, "clone into a new user namespace");
    if (userns_write_maps(f, pid, base, count) == 0) {
        snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            fail_errno(f, "open of %s", path);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return fd;
}

static int slot_number(struct fail *f, const json_t *request, int64_t *slot)
{
    *slot = -1;
    return request_integer(f, request, "slot", 0, SLOTS_MAX - 1, slot);
}

json_t *userns_create(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"slot", "base", "count", NULL};
    int64_t slot, base = -1, count = -1;

    if (request_only(f, request, fields) < 0 || slot_number(f, request, &slot) < 0 ||
        // Not below 65536: those ids are the host's own users.
        request_integer(f, request, "base", 65536, UINT32_MAX - 65536, &base) < 0 ||
        request_integer(f, request, "count", 1, 65536, &count) < 0)
        return NULL;
    struct userns *held = slots[slot];
    if (held && held->base == base && held->count == count)
        return json_pack("{s:b}", "created", 0);
    if (held) {
        fail(f, FAIL_CONFLICT, "slot %d has ids %u+%u, not %u+%u: drop it first", (int)slot, held->base, held->count,
             (uint32_t)base, (uint32_t)count);
        return NULL;
    }
    struct userns *made = malloc(sizeof *made);
    int fd = made ? make(f, (uint32_t)base, (uint32_t)count) : fail_errno(f, "no memory for a slot");
    if (fd < 0) {
        free(made);
        return NULL;
    }
    *made = (struct userns){.fd = fd, .base = (uint32_t)base, .count = (uint32_t)count};
    slots[slot] = made;
    slots_held++;
    return json_pack("{s:b}", "created", 1);
}

json_t *userns_drop(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"slot", NULL};
    int64_t slot;

    if (request_only(f, request, fields) < 0 || slot_number(f, request, &slot) < 0)
        return NULL;
    struct userns *held = slots[slot];
    if (held) {
        close(held->fd);
        free(held);
        slots[slot] = NULL;
        slots_held--;
    }
    return json_pack("{s:b}", "dropped", held != NULL);
}

const struct userns *userns_of(struct fail *f, const json_t *request)
{
    int64_t slot;

    if (slot_number(f, request, &slot) < 0)
        return NULL;
    if (!slots[slot])
        fail(f, FAIL_NOT_FOUND, "slot %d has no user namespace: userns.create comes first", (int)slot);
    return slots[slot];
}

// Numbers only, for a list that fits one line at any size that a node can have.
json_t *userns_list(void)
{
    json_t *list = json_array();

    for (int slot = 0; slot < SLOTS_MAX; slot++)
        if (slots[slot])
            json_array_append_new(list, json_integer(slot));
    return list;
}
