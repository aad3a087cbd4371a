/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>

#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

/* Far above any real tree (Chromium: 5,850 VMAs); a snapshot beyond it is damaged. */
#define REGIONS_MAX (8ul << 20)

struct region *regions_add(struct region_table *t, pid_t pid, unsigned long start, unsigned long end)
{
	if (start >= end || (start | end) & (KERNEL_PAGE - 1)) {
		pr_err("Task %d has a bad range %lx-%lx\n", pid, start, end);
		return NULL;
	}
	if (t->nr == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 1024;
		struct region *v;

		if (cap > REGIONS_MAX) {
			pr_err("More than %lu memory ranges\n", REGIONS_MAX);
			return NULL;
		}
		v = realloc(t->v, cap * sizeof(*v));
		if (!v) {
			pr_perror("No memory for the table of ranges");
			return NULL;
		}
		t->v = v;
		t->cap = cap;
	}
	t->v[t->nr] = (struct region){ .pid = pid, .start = start, .end = end };
	return &t->v[t->nr++];
}

static int compare(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

void regions_sort(struct region_table *t)
{
	if (t->nr)
		qsort(t->v, t->nr, sizeof(*t->v), compare);
}

void regions_free(struct region_table *t)
{
	free(t->v);
	*t = (struct region_table){};
}

struct region *regions_find(const struct region_table *t, pid_t pid, unsigned long addr)
{
	size_t lo = 0, hi = t->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct region *r = &t->v[mid];

		if (r->pid < pid || (r->pid == pid && r->end <= addr))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->nr && t->v[lo].pid == pid ? &t->v[lo] : NULL;
}

struct region *regions_next(const struct region_table *t, const struct region *r)
{
	size_t i = r - t->v + 1;

	return i < t->nr && t->v[i].pid == r->pid ? &t->v[i] : NULL;
}

struct region *regions_exact(const struct region_table *t, pid_t pid, unsigned long start, unsigned long end)
{
	struct region *r = regions_find(t, pid, start);

	return r && r->start == start && r->end == end ? r : NULL;
}
