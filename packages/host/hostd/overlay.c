// SPDX-License-Identifier: Apache-2.0
#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layer.h"
#include "request.h"
#include "userns.h"

struct plan {
    const char *target, *base, *upper, *work;
    char **lower; // top to bottom
    bool is_volatile, index, nfs_export, redirect_dir;
};

static bool old_kernel;

void overlay_act_as_old_kernel(void) { old_kernel = true; }

static int read_plan(struct fail *f, const json_t *request, struct plan *plan)
{
    static const char *const fields[] = {"slot",     "target", "lower",      "base",         "upper", "work",
                                         "volatile", "index",  "nfs_export", "redirect_dir", NULL};

    if (request_only(f, request, fields) < 0 || request_path(f, request, "target", &plan->target) < 0 ||
        request_path(f, request, "base", &plan->base) < 0 || request_inner(f, request, "upper", &plan->upper) < 0 ||
        request_inner(f, request, "work", &plan->work) < 0 ||
        request_flag(f, request, "volatile", &plan->is_volatile) < 0 ||
        request_flag(f, request, "index", &plan->index) < 0 ||
        request_flag(f, request, "nfs_export", &plan->nfs_export) < 0 ||
        request_flag(f, request, "redirect_dir", &plan->redirect_dir) < 0 ||
        request_strings(f, request, "lower", LAYERS_MAX, &plan->lower) < 0)
        return -1;
    if (!plan->lower[0])
        return fail(f, FAIL_REQUEST, "field \"lower\" must name at least one layer");
    for (char **path = plan->lower; *path; path++)
        if ((*path)[0] != '/')
            return fail(f, FAIL_REQUEST, "layer \"%.200s\" must be an absolute path", *path);
    return 0;
}

// The lower layers, and last the directory that holds upper and work: overlayfs wants both on ONE mount.
static int open_layers(struct fail *f, const struct plan *plan, int userns_fd, struct layers *layers)
{
    for (char **path = plan->lower; *path; path++)
        if (layers_add(f, layers, *path, userns_fd) < 0)
            return -1;
    return layers_add(f, layers, plan->base, userns_fd);
}

// The kernel's own words about a refused option wait in the context's fd (fsopen: "e overlay: ...").
static void quote_kernel(struct fail *f, int context)
{
    char said[256];
    ssize_t size = read(context, said, sizeof said - 1);
    size_t used = strlen(f->text);

    if (size <= 0)
        return;
    said[size] = '\0';
    said[strcspn(said, "\n")] = '\0';
    snprintf(f->text + used, sizeof f->text - used, " (kernel: %s)", said);
}

static int set(struct fail *f, int context, const char *key, const char *value)
{
    if (fsconfig(context, FSCONFIG_SET_STRING, key, value, 0) == 0)
        return 0;
    fail_errno(f, "overlay option %s=%s", key, value);
    quote_kernel(f, context);
    return -1;
}

static int set_paths(struct fail *f, int context, const struct plan *plan, const struct layers *layers)
{
    char path[300];
    size_t lower = layers->count - 1;

    for (size_t i = 0; i < lower; i++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", layers->fds[i]);
        if (set(f, context, "lowerdir+", path) < 0) // one at a time since Linux 6.5
            return -1;
    }
    // A value may have 255 bytes (fsconfig(2)); the name in it at most NAME_MAX.
    if (snprintf(path, sizeof path, "/proc/self/fd/%d/%s", layers->fds[lower], plan->upper) > 255)
        return fail(f, FAIL_REQUEST, "field \"upper\" is too long");
    if (set(f, context, "upperdir", path) < 0)
        return -1;
    if (snprintf(path, sizeof path, "/proc/self/fd/%d/%s", layers->fds[lower], plan->work) > 255)
        return fail(f, FAIL_REQUEST, "field \"work\" is too long");
    return set(f, context, "workdir", path);
}

static int set_options(struct fail *f, int context, const struct plan *plan)
{
    if (set(f, context, "metacopy", "off") < 0 || set(f, context, "xino", "off") < 0 ||
        set(f, context, "index", plan->index ? "on" : "off") < 0 ||
        set(f, context, "nfs_export", plan->nfs_export ? "on" : "off") < 0 ||
        set(f, context, "redirect_dir", plan->redirect_dir ? "on" : "nofollow") < 0)
        return -1;
    if (plan->is_volatile && fsconfig(context, FSCONFIG_SET_FLAG, "volatile", NULL, 0) < 0)
        return fail_errno(f, "overlay option volatile");
    return set(f, context, "source", "collimate");
}

// A detached overlay's fd.
static int make(struct fail *f, const struct plan *plan, const struct layers *layers)
{
    int context = fsopen("overlay", FSOPEN_CLOEXEC), made = -1;

    if (context < 0)
        return fail_errno(f, "fsopen of overlay");
    if (set_paths(f, context, plan, layers) == 0 && set_options(f, context, plan) == 0) {
        if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
            fail_errno(f, "overlay of %zu layers for %s", layers->count, plan->target);
            quote_kernel(f, context);
        } else if ((made = fsmount(context, FSMOUNT_CLOEXEC, 0)) < 0) {
            fail_errno(f, "fsmount of the overlay for %s", plan->target);
        }
    }
    close(context);
    return made;
}

// An overlay that cannot use its work directory mounts read-only and says so in the kernel log alone.
static int check_writable(struct fail *f, const char *target)
{
    struct statfs fs;

    if (statfs(target, &fs) < 0)
        return fail_errno(f, "statfs of %s", target);
    if (fs.f_flags & ST_RDONLY)
        return fail(f, FAIL_SYSTEM, "the overlay at %s is read-only: its work directory cannot be used", target);
    return 0;
}

// Below a shared mount it would have become shared itself, and show up in other namespaces.
static int make_private(struct fail *f, const char *target)
{
    return mount(NULL, target, NULL, MS_PRIVATE, NULL) < 0 ? fail_errno(f, "make %s private", target) : 0;
}

static int place(struct fail *f, int made, const char *target)
{
    if (move_mount(made, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return fail_errno(f, "move_mount of the overlay to %s", target);
    return 0;
}

// mount(2) takes its options as one string of less than a page: about 200 layers.
static int mount_old_way(struct fail *f, const struct plan *plan, const struct layers *layers)
{
    char options[4096];
    size_t used = 0, lower = layers->count - 1;

    for (size_t i = 0; i < lower && used < sizeof options; i++)
        used += (size_t)snprintf(options + used, sizeof options - used, "%s/proc/self/fd/%d", i ? ":" : "lowerdir=",
                                 layers->fds[i]);
    if (used < sizeof options)
        used += (size_t)snprintf(options + used, sizeof options - used,
                                 ",upperdir=/proc/self/fd/%d/%s,workdir=/proc/self/fd/%d/%s,metacopy=off,xino=off,"
                                 "index=%s,nfs_export=%s,redirect_dir=%s%s",
                                 layers->fds[lower], plan->upper, layers->fds[lower], plan->work,
                                 plan->index ? "on" : "off", plan->nfs_export ? "on" : "off",
                                 plan->redirect_dir ? "on" : "nofollow", plan->is_volatile ? ",volatile" : "");
    if (used >= sizeof options)
        return fail(f, FAIL_REQUEST, "%zu layers are too many for this kernel (Linux 6.5 takes more)", lower);
    if (mount("collimate", plan->target, "overlay", 0, options) < 0)
        return fail_errno(f, "overlay of %zu layers at %s", layers->count, plan->target);
    return 0;
}

static int mount_anyhow(struct fail *f, const struct plan *plan, struct layers *layers)
{
    int made = old_kernel ? -1 : make(f, plan, layers);
    struct fail first = *f;

    if (made >= 0) {
        int placed = place(f, made, plan->target);
        close(made);
        return placed;
    }
    // EINVAL is what kernels say that know neither detached layers nor "lowerdir+".
    if (!old_kernel && strcmp(f->errno_name, "EINVAL") != 0)
        return -1;
    if (layers_attach(f, layers) == 0 && mount_old_way(f, plan, layers) == 0)
        return 0;
    struct fail second = *f;
    return old_kernel ? -1 : fail(f, second.code, "%.480s; in the older way: %.480s", first.text, second.text);
}

// overlayfs works on the upper layer with the credentials of whoever mounted it, and the host's uid 0 has no place in
// a layer idmapped to base..base+count: it could not even make its work directory (and would mount read-only).
// So the worker turns into the sandbox's root for file access. That takes file capabilities away from the effective
// set (capabilities(7), "Effect of user ID changes"), though not from the permitted one: they are taken back.
static int act_as_inner_root(struct fail *f, uint32_t base)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, data) < 0)
        return fail_errno(f, "capget");
    setfsgid(base);
    setfsuid(base);
    if ((uint32_t)setfsgid(base) != base || (uint32_t)setfsuid(base) != base) // each returns the id before the call
        return fail(f, FAIL_SYSTEM, "file access as id %u was refused", base);
    return syscall(SYS_capset, &header, data) < 0 ? fail_errno(f, "capset") : 0;
}

static int mount_plan(struct fail *f, const struct plan *plan, struct layers *layers)
{
    if (mount_anyhow(f, plan, layers) < 0)
        return -1;
    if (make_private(f, plan->target) == 0 && check_writable(f, plan->target) == 0)
        return 0;
    umount2(plan->target, MNT_DETACH);
    return -1;
}

json_t *overlay_mount(struct fail *f, const json_t *request)
{
    struct layers layers = {0};
    struct plan plan = {0};
    const struct userns *userns = userns_of(f, request);
    int done = -1;

    if (userns && read_plan(f, request, &plan) == 0 && open_layers(f, &plan, userns->fd, &layers) == 0 &&
        act_as_inner_root(f, userns->base) == 0)
        done = mount_plan(f, &plan, &layers);
    layers_release(&layers);
    free(plan.lower);
    return done == 0 ? json_object() : NULL;
}

json_t *overlay_umount(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"target", "detach", NULL};
    bool detach = true;
    const char *target;

    if (request_only(f, request, fields) < 0 || request_path(f, request, "target", &target) < 0 ||
        request_flag(f, request, "detach", &detach) < 0)
        return NULL;
    if (umount2(target, UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0)) == 0)
        return json_pack("{s:b}", "was_mounted", 1);
    if (errno == EINVAL || errno == ENOENT) // nothing is mounted there: what was asked for is so
        return json_pack("{s:b}", "was_mounted", 0);
    fail_errno(f, "umount of %s", target);
    return NULL;
}
