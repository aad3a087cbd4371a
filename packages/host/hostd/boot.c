// SPDX-License-Identifier: Apache-2.0
#include "boot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_process.h"
#include "process.h"
#include "request.h"
#include "userns.h"
#include "worker.h"

#define ARGUMENTS_MAX 256
#define CGROUPS_MAX 16

struct boot_plan {
    struct first_process first;
    const char *root;
    char **cgroups; // cgroup.procs files
};

static int read_plan(struct fail *f, const json_t *request, struct boot_plan *plan)
{
    static const char *const fields[] = {"slot", "root", "cgroups", "argv", "env", "hostname", "addrs", NULL};

    plan->first.hostname = "sandbox";
    if (request_only(f, request, fields) < 0 || request_path(f, request, "root", &plan->root) < 0 ||
        request_string(f, request, "hostname", 64, &plan->first.hostname) < 0 ||
        net_read_addresses(f, request, "addrs", &plan->first.addresses) < 0 ||
        request_strings(f, request, "cgroups", CGROUPS_MAX, &plan->cgroups) < 0 ||
        request_strings(f, request, "argv", ARGUMENTS_MAX, &plan->first.argv) < 0 ||
        request_strings(f, request, "env", ARGUMENTS_MAX, &plan->first.env) < 0)
        return -1;
    if (!plan->first.argv[0] || plan->first.argv[0][0] != '/')
        return fail(f, FAIL_REQUEST, "field \"argv\" must begin with an absolute path");
    for (char **entry = plan->first.env; *entry; entry++)
        if (!strchr(*entry, '=') || (*entry)[0] == '=')
            return fail(f, FAIL_REQUEST, "field \"env\" must hold NAME=value strings");
    return 0;
}

// "0" is whoever writes. Before the clone, so that the new cgroup namespace has its roots there.
static int enter_cgroups(struct fail *f, char **cgroups)
{
    for (; *cgroups; cgroups++) {
        int fd = open(*cgroups, O_WRONLY | O_CLOEXEC);

        if (fd < 0)
            return fail_errno(f, "cgroup: open of %s", *cgroups);
        int result = write(fd, "0", 1) == 1 ? 0 : fail_errno(f, "cgroup: entering %s", *cgroups);
        close(fd);
        if (result < 0)
            return -1;
    }
    return 0;
}

static rlim_t lesser(rlim_t a, rlim_t b) { return a < b ? a : b; }

// criu carries these through every fork. A host's own hard limit stays where it is lower: raising one needs
// CAP_SYS_RESOURCE, which an agent in a container may lack, and criu would need it at every restore.
static int set_limits(struct fail *f)
{
    static const struct {
        int which;
        struct rlimit wanted;
    } limits[] = {
        {RLIMIT_CORE, {0, 0}},
        {RLIMIT_NOFILE, {65536, 1048576}},
        {RLIMIT_NPROC, {RLIM_INFINITY, RLIM_INFINITY}}, // the pids cgroup bounds processes
        {RLIMIT_MEMLOCK, {8 << 20, 8 << 20}},
        {RLIMIT_STACK, {8 << 20, RLIM_INFINITY}},
        {RLIMIT_DATA, {RLIM_INFINITY, RLIM_INFINITY}},
        {RLIMIT_AS, {RLIM_INFINITY, RLIM_INFINITY}},
        {RLIMIT_CPU, {RLIM_INFINITY, RLIM_INFINITY}},
        {RLIMIT_FSIZE, {RLIM_INFINITY, RLIM_INFINITY}},
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit now, set;

        if (getrlimit(limits[i].which, &now) < 0)
            return fail_errno(f, "limits: resource %d", limits[i].which);
        set.rlim_max = lesser(limits[i].wanted.rlim_max, now.rlim_max);
        set.rlim_cur = lesser(limits[i].wanted.rlim_cur, set.rlim_max);
        if (setrlimit(limits[i].which, &set) < 0)
            return fail_errno(f, "limits: resource %d", limits[i].which);
    }
    return 0;
}

// The clone inherits the working directory, in its own copy of the mounts. So it never has to walk to the root, whose
// parents may be closed to the sandbox's ids.
static int go_to_root(struct fail *f, const char *root)
{
    struct statfs fs;

    if (chdir(root) < 0)
        return fail_errno(f, "root: chdir to %s", root);
    if (statfs(".", &fs) < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
        return fail(f, FAIL_REQUEST, "root: %s is not a mounted overlay", root);
    return 0;
}

static pid_t clone_first(int *pidfd)
{
    struct clone_args args = {.pidfd = (uint64_t)(uintptr_t)pidfd,
                              .flags = CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC |
                                       CLONE_NEWNET | CLONE_NEWCGROUP,
                              .exit_signal = SIGCHLD};

    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

// 0 once the program runs: execve has closed the pipe without a word.
static int await_exec(struct fail *f, pid_t pid, int failures)
{
    struct stage_failure report;
    ssize_t got = read(failures, &report, sizeof report);

    if (got == sizeof report) {
        *f = report.fail;
        return -1;
    }
    int status;
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (got == 0 && ended == 0)
        return 0;
    if (got == 0 && ended == pid && WIFSIGNALED(status))
        return fail(f, FAIL_SYSTEM, "the first process was killed by signal %d", WTERMSIG(status));
    return fail(f, FAIL_SYSTEM, "the first process ended at once");
}

static int start(struct fail *f, const struct boot_plan *plan, const struct userns *userns, pid_t *pid)
{
    int go[2], failures[2], pidfd;

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failures, O_CLOEXEC) < 0)
        return fail_errno(f, "pipe");
    *pid = clone_first(&pidfd);
    if (*pid < 0)
        return fail_errno(f, "clone into new namespaces");
    if (*pid == 0) {
        close(go[1]); // or it would never see the end of it
        close(failures[0]);
        first_process_run(&plan->first, go[0], failures[1]);
    }
    close(failures[1]);
    if (worker_answers_for(f, pidfd) < 0 || userns_write_maps(f, *pid, userns->base, userns->count) < 0)
        return -1;
    if (write(go[1], "", 1) != 1)
        return fail_errno(f, "start of the first process");
    return await_exec(f, *pid, failures[0]);
}

json_t *boot(struct fail *f, const json_t *request)
{
    struct boot_plan plan = {0};
    const struct userns *userns = userns_of(f, request);
    uint64_t start_time;
    pid_t pid = -1;

    // The plan's lists live as long as this worker.
    if (!userns || read_plan(f, request, &plan) < 0 || go_to_root(f, plan.root) < 0 ||
        enter_cgroups(f, plan.cgroups) < 0 || set_limits(f) < 0)
        return NULL;
    if (start(f, &plan, userns, &pid) < 0 || process_start_time(f, pid, &start_time) < 0) {
        if (pid > 0)
            end(pid);
        return NULL;
    }
    return json_pack("{s:i, s:I}", "pid", (int)pid, "start_time", (json_int_t)start_time);
}
