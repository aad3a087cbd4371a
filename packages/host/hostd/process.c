// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <unistd.h>

// The command name (field 2) may hold spaces and parentheses of the program's choosing: fields count from the last ')'.
static int parse_start_time(const char *stat, uint64_t *start_time)
{
    const char *at = strrchr(stat, ')');

    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return -1;
    errno = 0;
    *start_time = strtoull(at + 1, NULL, 10);
    return errno || *start_time == 0 ? -1 : 0;
}

int process_start_time(struct fail *f, pid_t pid, uint64_t *start_time)
{
    char path[40], stat[1024];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(f, FAIL_GONE, "process %d has ended", (int)pid);
    ssize_t size = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (size <= 0)
        return fail(f, FAIL_GONE, "process %d has ended", (int)pid);
    stat[size] = '\0';
    if (parse_start_time(stat, start_time) < 0)
        return fail(f, FAIL_SYSTEM, "%s is not as proc(5) says", path);
    return 0;
}

int process_open(struct fail *f, pid_t pid, uint64_t start_time)
{
    int fd = pidfd_open(pid, 0);
    uint64_t found;

    if (fd < 0) {
        if (errno == ESRCH)
            return fail(f, FAIL_GONE, "process %d has ended", (int)pid);
        return fail_errno(f, "pidfd_open of process %d", (int)pid);
    }
    if (start_time == 0)
        return fd;
    // Read after the open: if the time fits now, the process meant was alive all along, so the pidfd is its own.
    if (process_start_time(f, pid, &found) < 0) {
        close(fd);
        return -1;
    }
    if (found != start_time) {
        close(fd);
        return fail(f, FAIL_GONE, "process %d has ended (its pid was used again: start time %llu, not %llu)", (int)pid,
                    (unsigned long long)found, (unsigned long long)start_time);
    }
    return fd;
}

void process_begin_child(pid_t parent)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) // it died before the line above
        _exit(1);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); // fails for KILL and STOP, which is fine
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
