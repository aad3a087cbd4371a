/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu restores a tree by forking down it. Every fork would copy the page
 * tables of all held areas, though each task needs its own one and those of the
 * tasks below it. So the areas that a new task does not need are hidden from
 * its fork, and unmapped where nobody below needs them any more.
 */
#include <errno.h>
#include <sys/mman.h>

#include "types.h"
#include "clone-noasan.h"
#include "log.h"
#include "namespaces.h"
#include "pstree.h"
#include "rst_info.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

/* Copying the page tables of less is cheaper than the two calls. */
#define WORTH_HIDING (512ul << 10)

int __real_clone3_with_pid_noasan(int (*fn)(void *), void *arg, int flags, int exit_signal, pid_t pid);
int __wrap_clone3_with_pid_noasan(int (*fn)(void *), void *arg, int flags, int exit_signal, pid_t pid);
int __real_prepare_namespace_before_tasks(void);
int __wrap_prepare_namespace_before_tasks(void);

static struct pstree_item *item_of(pid_t pid)
{
	struct pid *p = pstree_pid_by_virt(pid);

	return p ? p->item : NULL;
}

static bool is_at_or_below(const struct pstree_item *item, pid_t pid)
{
	for (; item; item = item->parent)
		if (vpid(item) == pid)
			return true;
	return false;
}

static unsigned long area_len(const struct area *a)
{
	return a->hi - a->lo;
}

static void area_drop(struct area *a)
{
	if (munmap((void *)a->lo, area_len(a)))
		pr_pwarn("Can't unmap the area of task %d", a->pid);
	a->gone = true;
}

/* Which areas the fork for `pid` shall not see; those that nobody at or below the present task needs go. */
static void hide_areas(pid_t pid)
{
	size_t i;

	for (i = 0; i < held.areas.nr; i++) {
		struct area *a = &held.areas.v[i];
		struct pstree_item *owner;

		if (a->gone || area_len(a) < WORTH_HIDING)
			continue;
		owner = item_of(a->pid);
		if (is_at_or_below(owner, pid))
			continue;
		if (!is_at_or_below(owner, vpid(current)))
			area_drop(a);
		else if (madvise((void *)a->lo, area_len(a), MADV_DONTFORK))
			pr_pwarn("Can't hide the area of task %d", a->pid);
	}
}

static void show_areas(pid_t pid, bool forked)
{
	size_t i;

	for (i = 0; i < held.areas.nr; i++) {
		struct area *a = &held.areas.v[i];

		if (a->gone || area_len(a) < WORTH_HIDING)
			continue;
		if (forked && is_at_or_below(item_of(a->pid), pid))
			area_drop(a); /* the new task has it now */
		else if (madvise((void *)a->lo, area_len(a), MADV_DOFORK))
			pr_pwarn("Can't show the area of task %d", a->pid);
	}
}

int __wrap_clone3_with_pid_noasan(int (*fn)(void *), void *arg, int flags, int exit_signal, pid_t pid)
{
	bool root = !root_item || pid == vpid(root_item);
	int ret, saved;

	if (!restoring_from_held)
		return __real_clone3_with_pid_noasan(fn, arg, flags, exit_signal, pid);
	if (root) {
		ret = __real_clone3_with_pid_noasan(fn, arg, flags, exit_signal, pid);
		if (ret > 0)
			restore_root_born(ret);
		return ret;
	}
	hide_areas(pid);
	ret = __real_clone3_with_pid_noasan(fn, arg, flags, exit_signal, pid);
	saved = errno;
	show_areas(pid, ret > 0);
	errno = saved;
	return ret;
}

/* criu forks a daemon here that serves the user namespace; it touches no memory of the tasks. */
int __wrap_prepare_namespace_before_tasks(void)
{
	int ret;

	if (!restoring_from_held)
		return __real_prepare_namespace_before_tasks();
	if (areas_advise(&held.areas, MADV_DONTFORK))
		return -1;
	ret = __real_prepare_namespace_before_tasks();
	return areas_advise(&held.areas, MADV_DOFORK) ? -1 : ret;
}
