/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All regions of a task lie in one area, in order, each at the same offset
 * within a huge page as in the task. criu's restorer takes an area like that as
 * its "premapped" memory and only moves the pieces home, without a second move
 * on our side.
 *
 * The gaps between regions stay reserved (PROT_NONE). Were they free, the next
 * mmap of this process would land in them and later be taken for held memory.
 * They are unmapped in the restored task at the last moment, see drop_holes()
 * in restore_hooks.c.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

static unsigned long aligned_like(unsigned long at, const struct region *r)
{
	unsigned long want;

	if (region_len(r) < HUGE_SIZE)
		return at;
	want = (at & ~(HUGE_SIZE - 1)) + (r->start & (HUGE_SIZE - 1));
	return want < at ? want + HUGE_SIZE : want;
}

static struct area *area_add(struct area_list *l)
{
	if (l->nr == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct area *v = realloc(l->v, cap * sizeof(*v));

		if (!v) {
			pr_perror("No memory for the list of areas");
			return NULL;
		}
		l->v = v;
		l->cap = cap;
	}
	return &l->v[l->nr++];
}

int area_place(struct area_list *l, pid_t pid, struct region *r, size_t n)
{
	unsigned long size = HUGE_SIZE, at;
	struct area *a;
	void *base;
	size_t i;

	if (!n)
		return 0;
	for (i = 0; i < n; i++)
		size += region_len(&r[i]) + (region_len(&r[i]) >= HUGE_SIZE ? HUGE_SIZE : 0);

	base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) {
		pr_perror("Can't reserve %lu bytes of address space for task %d", size, pid);
		return -1;
	}
	at = (unsigned long)base;
	for (i = 0; i < n; i++) {
		at = aligned_like(at, &r[i]);
		r[i].addr = (char *)at;
		at += region_len(&r[i]);
	}
	if (munmap((void *)at, (unsigned long)base + size - at)) {
		pr_perror("Can't give back the end of the area of task %d", pid);
		return -1;
	}

	a = area_add(l);
	if (!a)
		return -1;
	*a = (struct area){ .pid = pid, .lo = (unsigned long)base, .hi = at };
	return 0;
}

struct area *area_of(struct area_list *l, pid_t pid)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (l->v[i].pid == pid)
			return &l->v[i];
	return NULL;
}

void areas_unmap(struct area_list *l)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (!l->v[i].gone && munmap((void *)l->v[i].lo, l->v[i].hi - l->v[i].lo))
			pr_perror("Can't unmap the area of task %d", l->v[i].pid);
	free(l->v);
	*l = (struct area_list){};
}

int areas_advise(struct area_list *l, int advice)
{
	size_t i;

	for (i = 0; i < l->nr; i++) {
		struct area *a = &l->v[i];

		if (!a->gone && madvise((void *)a->lo, a->hi - a->lo, advice)) {
			pr_perror("madvise(%d) on the area of task %d", advice, a->pid);
			return -1;
		}
	}
	return 0;
}
