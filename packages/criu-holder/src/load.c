/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/mman.h>

#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

/*
 * Makes huge pages of the blocks that will be written whole, before they are
 * written: collapsing one touched page costs nothing, and a child then shares
 * the block by one page table entry. A partly dumped block is left alone: the
 * rest of a huge page would be zero pages that no image knows.
 */
static void collapse_full_blocks(const struct task_pages *tp, const struct region *r)
{
	unsigned long at = (r->start + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);

	for (; at + HUGE_SIZE <= r->end; at += HUGE_SIZE) {
		char *block = r->addr + (at - r->start);

		if (task_pages_present(tp, at, at + HUGE_SIZE, false) != HUGE_SIZE)
			continue;
		*(volatile char *)block = 0;
		/* No huge page to be had: small ones do, only slower. */
		if (madvise(block, HUGE_SIZE, MADV_COLLAPSE))
			pr_debug("No huge page at %p\n", block);
	}
}

static int load_task(pid_t pid, void *arg)
{
	size_t first = held.regions.nr, n, i;
	struct task_pages tp;
	int ret = task_pages_open(&tp, pid, false);

	if (ret <= 0)
		return ret;
	ret = -1;
	if (task_pages_collect(&tp, &held))
		goto out;
	n = held.regions.nr - first;
	if (area_place(&held.areas, pid, held.regions.v + first, n))
		goto out;
	for (i = first; i < first + n; i++) {
		struct region *r = &held.regions.v[i];

		if (mmap(r->addr, region_len(r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED) {
			pr_perror("Can't map %lu bytes for task %d", region_len(r), pid);
			goto out;
		}
		collapse_full_blocks(&tp, r);
	}
	ret = task_pages_read(&tp, held.regions.v + first, n, false);
out:
	task_pages_close(&tp);
	return ret;
}

/* Each run lies inside one region. */
int held_locate_runs(void)
{
	size_t i;

	regions_sort(&held.regions);
	regions_sort(&held.runs);
	for (i = 0; i < held.runs.nr; i++) {
		struct region *run = &held.runs.v[i];
		struct region *r = regions_find(&held.regions, run->pid, run->start);

		if (!r || r->start > run->start || r->end < run->end) {
			pr_err("Dumped pages %lx-%lx of task %d lie outside its memory\n", run->start, run->end,
			       run->pid);
			return -1;
		}
		run->addr = r->addr + (run->start - r->start);
	}
	return 0;
}

int load_snapshot(void)
{
	if (for_each_task(load_task, NULL) < 0)
		return -1;
	return held_locate_runs();
}
