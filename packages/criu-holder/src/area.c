/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All regions of a task lie in one area, in order, each at the same offset
 * within a huge page as in the task. criu's restorer takes an area like that as
 * its "premapped" memory and only moves the pieces home, without a second move
 * on our side.
 *
 * The restorer first moves pieces down, from the lowest on, until it meets one
 * that has to go up; then up, from the highest on, until it meets one that has
 * to go down (restorer.c, "Shift private vma-s"). What stands between would
 * stay behind. So an area must not overlap any place where a piece goes: then
 * all that is below it goes down and all above it up.
 *
 * The gaps between regions stay reserved (PROT_NONE). Were they free, the next
 * mmap of this process would land in them and later be taken for held memory.
 * They are unmapped in the restored task at the last moment, see drop_holes()
 * in restore_memory.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "types.h"
#include "kerndat.h"
#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Other areas and the little that this process maps itself: far fewer lie in a gap than this. */
#define TRIES_PER_GAP 4096
#define GAPS_TRIED 8

/* Lays the regions out from 0, and returns the size. */
static unsigned long lay_out(struct region *r, size_t n)
{
	unsigned long at = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (region_len(&r[i]) >= HUGE_SIZE) {
			unsigned long want = (at & ~(HUGE_SIZE - 1)) + (r[i].start & (HUGE_SIZE - 1));

			at = want < at ? want + HUGE_SIZE : want;
		}
		r[i].addr = (char *)at;
		at += region_len(&r[i]);
	}
	return at;
}

static bool reserve_at(unsigned long at, unsigned long size)
{
	void *got = mmap((void *)at, size, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == (void *)at)
		return true;
	if (got != MAP_FAILED) /* a kernel before 4.17 takes it for a hint */
		munmap(got, size);
	return false;
}

/* Somewhere in [lo, hi), beginning behind the last area or in the middle. 0 when there is no room. */
static unsigned long reserve_within(unsigned long lo, unsigned long hi, unsigned long size)
{
	static unsigned long behind_last;
	unsigned long step = (size + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1), at;
	int tries;

	lo = (lo + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
	if (lo >= hi || hi - lo < size)
		return 0;
	at = behind_last;
	if (at < lo || at > hi - size)
		at = lo + ((hi - lo - size) / 2 & ~(HUGE_SIZE - 1));
	for (tries = 0; tries < TRIES_PER_GAP && at <= hi - size; tries++, at += step)
		if (reserve_at(at, size)) {
			behind_last = at + step;
			return at;
		}
	return 0;
}

/* Tries the gaps between the places where the regions go, the largest first. */
static unsigned long reserve_beside(const struct region *r, size_t n, unsigned long size)
{
	unsigned long smaller_than = ~0ul, got = 0;
	int tried;

	for (tried = 0; !got && tried < GAPS_TRIED; tried++) {
		unsigned long lo = HUGE_SIZE, best = 0, best_lo = 0;
		size_t i;

		for (i = 0; i <= n; i++) {
			unsigned long hi = i < n ? r[i].start : kdat.task_size;

			if (hi > lo && hi - lo > best && hi - lo < smaller_than) {
				best = hi - lo;
				best_lo = lo;
			}
			if (i < n && r[i].end > lo)
				lo = r[i].end;
		}
		got = reserve_within(best_lo, best_lo + best, size);
		smaller_than = best;
	}
	return got;
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
	unsigned long size, base;
	struct area *a;
	size_t i;

	if (!n)
		return 0;
	size = lay_out(r, n);
	base = reserve_beside(r, n, size);
	if (!base) {
		pr_err("No room for %lu bytes beside the memory of task %d\n", size, pid);
		return -1;
	}
	for (i = 0; i < n; i++)
		r[i].addr += base;
	a = area_add(l);
	if (!a)
		return -1;
	*a = (struct area){ .pid = pid, .lo = base, .hi = base + size };
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
