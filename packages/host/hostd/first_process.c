// SPDX-License-Identifier: Apache-2.0
#include "first_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int become_root_inside(struct fail *f)
{
    if (setgroups(0, NULL) < 0)
        return fail_errno(f, "ids: setgroups");
    if (setresgid(0, 0, 0) < 0)
        return fail_errno(f, "ids: setresgid");
    if (setresuid(0, 0, 0) < 0)
        return fail_errno(f, "ids: setresuid");
    return 0;
}

// The root's own directory, never what an image's symlink points at.
static int open_beneath(const char *path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

struct inner_mount {
    const char *type, *path; // the path without its first slash
    unsigned attributes;
    const char *options[8]; // name, value, ..., NULL
};

// Mounted while the host's /proc is still in sight: without a full one the kernel refuses a new proc to a
// user namespace (mount_too_revealing, fs/namespace.c).
static const struct inner_mount processes = {
    .type = "proc", .path = "proc", .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC};

// Terminals of the sandbox's own. No gid: criu would take along its number outside, which is another one in each slot.
// All sandboxes draw on one pool of the kernel (kernel.pty.max), so each has its bound.
static const struct inner_mount terminals = {.type = "devpts",
                                             .path = "dev/pts",
                                             .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                                             .options = {"mode", "620", "ptmxmode", "666", "max", "128"}};

static int make_mount(struct fail *f, const struct inner_mount *m)
{
    int context = fsopen(m->type, FSOPEN_CLOEXEC), made;

    if (context < 0)
        return fail_errno(f, "%s: fsopen", m->type);
    for (const char *const *option = m->options; *option; option += 2)
        if (fsconfig(context, FSCONFIG_SET_STRING, option[0], option[1], 0) < 0)
            return fail_errno(f, "%s: option %s", m->type, option[0]);
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return fail_errno(f, "%s: fsconfig", m->type);
    made = fsmount(context, FSMOUNT_CLOEXEC, m->attributes);
    return made < 0 ? fail_errno(f, "%s: fsmount (masked on the host?)", m->type) : made;
}

static int mount_inside(struct fail *f, const struct inner_mount *m)
{
    int made = make_mount(f, m), at;

    if (made < 0)
        return -1;
    at = open_beneath(m->path, O_PATH | O_DIRECTORY);
    if (at < 0)
        return fail_errno(f, "%s: the root's /%s must be a directory", m->type, m->path);
    if (move_mount(made, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return fail_errno(f, "%s: move_mount", m->type);
    return 0;
}

// A mount copied from a more privileged namespace is locked and cannot be pivoted to; one cloned here can.
static int stand_on_own_mount(struct fail *f)
{
    int own = open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (own < 0)
        return fail_errno(f, "root: open_tree");
    if (move_mount(own, "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return fail_errno(f, "root: move_mount");
    int result = fchdir(own) < 0 ? fail_errno(f, "root: fchdir") : 0;
    close(own);
    return result;
}

// From the working directory, which is the root to be. Leaves exactly three mounts: /, /proc and /dev/pts.
static int enter_root(struct fail *f)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return fail_errno(f, "root: make the mounts private");
    if (stand_on_own_mount(f) < 0 || mount_inside(f, &processes) < 0 || mount_inside(f, &terminals) < 0)
        return -1;
    // pivot_root(2), "pivot_root(".", ".")": the old root ends stacked on the new one, and goes with the umount.
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return fail_errno(f, "root: pivot_root");
    if (umount2(".", MNT_DETACH) < 0)
        return fail_errno(f, "root: detach of the old root");
    return chdir("/") < 0 ? fail_errno(f, "root: chdir to /") : 0;
}

// Opened inside: criu looks the files of a task up in the sandbox's own mounts.
static int open_stdio(struct fail *f)
{
    struct stat st;
    int fd = open("/dev/null", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return fail_errno(f, "stdio: /dev/null inside");
    if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
        return fail(f, FAIL_REQUEST, "stdio: /dev/null inside is not the null device");
    close(fd);
    fd = open("/dev/null", O_RDWR | O_NOFOLLOW | O_CLOEXEC); // without O_NONBLOCK, which the fds below would share
    if (fd < 0)
        return fail_errno(f, "stdio: /dev/null inside");
    for (int standard = 0; standard <= 2; standard++)
        if (dup2(fd, standard) < 0)
            return fail_errno(f, "stdio: dup2");
    return 0;
}

static int set_up_network(struct fail *f, const struct addresses *addresses)
{
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int result;

    if (proc < 0)
        return fail_errno(f, "net: /proc inside");
    result = net_allow_nonlocal_bind(f, proc);
    close(proc);
    return result < 0 ? -1 : net_loopback_up(f, addresses);
}

static int prepare(struct fail *f, const struct first_process *plan)
{
    umask(022);
    if (setsid() < 0)
        return fail_errno(f, "setsid");
    if (become_root_inside(f) < 0)
        return -1;
    if (sethostname(plan->hostname, strlen(plan->hostname)) < 0)
        return fail_errno(f, "hostname");
    if (enter_root(f) < 0 || set_up_network(f, &plan->addresses) < 0 || open_stdio(f) < 0)
        return -1;
    // The host's session keyring would be readable inside otherwise. Kernels without keys have none to hide.
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EPERM)
        return fail_errno(f, "keyring");
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return fail_errno(f, "close of inherited files");
    return 0;
}

void first_process_run(const struct first_process *plan, int go, int failures)
{
    struct stage_failure report = {0};
    char byte;

    prctl(PR_SET_PDEATHSIG, SIGKILL); // until the program runs; a maker dead already shows as the end of `go`
    if (read(go, &byte, 1) != 1)
        _exit(1);
    if (prepare(&report.fail, plan) == 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        execve(plan->argv[0], plan->argv, plan->env);
        fail_errno(&report.fail, "exec: %s", plan->argv[0]);
    }
    (void)!write(failures, &report, sizeof report);
    _exit(1);
}
