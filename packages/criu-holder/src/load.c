/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/mman.h>
#include <sys/stat.h>

#include "types.h"
#include "log.h"
#include "servicefd.h"
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
	unsigned long at = task_pages_next_block(tp, r->start, r->end);

	for (; at < r->end; at = task_pages_next_block(tp, at + HUGE_SIZE, r->end)) {
		char *block = r->addr + (at - r->start);

		if (task_pages_present(tp, at, at + HUGE_SIZE, false) != HUGE_SIZE)
			continue;
		*(volatile char *)block = 0;
		/* No huge page to be had: small ones do, only slower. */
		if (madvise(block, HUGE_SIZE, MADV_COLLAPSE))
			pr_debug("No huge page at %p\n", block);
	}
}

int region_map(const struct region *r, unsigned long offset, unsigned long len)
{
	if (mmap(r->addr + offset, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | r->map_flags,
		 -1, 0) != MAP_FAILED)
		return 0;
	pr_perror("Can't map %lu bytes for task %d", len, r->pid);
	return -1;
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

		if (region_map(r, 0, region_len(r)))
			goto out;
		collapse_full_blocks(&tp, r);
	}
	ret = task_pages_read(&tp, held.regions.v + first, n, false);
out:
	task_pages_close(&tp);
	return ret;
}

/* Each run lies inside one region. */
int held_complete(void)
{
	struct stat st;
	size_t i;

	if (fstat(get_service_fd(IMG_FD_OFF), &st)) {
		pr_perror("Can't look at the image directory");
		return -1;
	}
	held.images_dev = st.st_dev;
	held.images_ino = st.st_ino;

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
	return held_complete();
}
