/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of one task as its images tell it, read through criu's own page reader. */
#include <stdlib.h>
#include <sys/mman.h>

#include "types.h"
#include "image.h"
#include "log.h"
#include "pagemap.h"
#include "protobuf.h"
#include "util.h"
#include "images/mm.pb-c.h"
#include "images/pagemap.pb-c.h"
#include "images/pstree.pb-c.h"
#include "images/vma.pb-c.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int __real_open_page_read(unsigned long id, struct page_read *pr, int flags);

static unsigned long entry_end(const PagemapEntry *e)
{
	return e->vaddr + e->nr_pages * KERNEL_PAGE;
}

/* The rest of this code relies on sorted entries that do not overlap or wrap around. */
static int check_entries(const struct task_pages *tp)
{
	unsigned long last = 0;
	int i;

	for (i = 0; i < tp->pr->nr_pmes; i++) {
		const PagemapEntry *e = tp->pr->pmes[i];

		if (e->vaddr < last || !e->nr_pages || e->nr_pages > (~0ul - e->vaddr) / KERNEL_PAGE) {
			pr_err("The pagemap of task %d is damaged at entry %d\n", tp->pid, i);
			return -1;
		}
		last = entry_end(e);
	}
	return 0;
}

int task_pages_open(struct task_pages *tp, pid_t pid, bool delta)
{
	struct cr_img *img = open_image(CR_FD_MM, O_RSTR, pid);
	int ret;

	*tp = (struct task_pages){ .pid = pid };
	if (!img)
		return -1;
	ret = pb_read_one_eof(img, &tp->mm, PB_MM);
	close_image(img);
	if (ret <= 0)
		return ret;

	tp->pr = calloc(1, sizeof(*tp->pr));
	if (!tp->pr) {
		pr_perror("No memory for a page reader");
		goto err;
	}
	hide_parent_images = delta;
	ret = __real_open_page_read(pid, tp->pr, PR_TASK);
	hide_parent_images = false;
	if (ret <= 0) {
		free(tp->pr);
		tp->pr = NULL;
		task_pages_close(tp);
		return ret;
	}
	if (check_entries(tp))
		goto err;
	return 1;
err:
	task_pages_close(tp);
	return -1;
}

void task_pages_close(struct task_pages *tp)
{
	if (tp->pr) {
		tp->pr->close(tp->pr);
		free(tp->pr);
	}
	if (tp->mm)
		mm_entry__free_unpacked(tp->mm, NULL);
	*tp = (struct task_pages){};
}

int task_pages_first(const struct task_pages *tp, unsigned long addr)
{
	int lo = 0, hi = tp->pr->nr_pmes;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (entry_end(tp->pr->pmes[mid]) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

unsigned long task_pages_next_block(const struct task_pages *tp, unsigned long at, unsigned long end)
{
	unsigned long block = (at + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
	int i = task_pages_first(tp, block);

	if (i < tp->pr->nr_pmes)
		block = max_t(unsigned long, block, tp->pr->pmes[i]->vaddr & ~(HUGE_SIZE - 1));
	else
		block = end;
	return block < end && end - block >= HUGE_SIZE ? block : end;
}

unsigned long task_pages_present(const struct task_pages *tp, unsigned long lo, unsigned long hi, bool own)
{
	unsigned long sum = 0;
	int i;

	for (i = task_pages_first(tp, lo); i < tp->pr->nr_pmes && tp->pr->pmes[i]->vaddr < hi; i++) {
		PagemapEntry *e = tp->pr->pmes[i];

		if (own && pagemap_in_parent(e))
			continue;
		sum += min(hi, entry_end(e)) - max_t(unsigned long, lo, e->vaddr);
	}
	return sum;
}

/* Adds the dumped stretches of [lo, hi), neighbours joined. */
static int add_stretches(const struct task_pages *tp, struct region_table *to, unsigned long lo, unsigned long hi)
{
	struct region *last = NULL;
	int i;

	for (i = task_pages_first(tp, lo); i < tp->pr->nr_pmes && tp->pr->pmes[i]->vaddr < hi; i++) {
		unsigned long start = max_t(unsigned long, lo, tp->pr->pmes[i]->vaddr);
		unsigned long end = min(hi, entry_end(tp->pr->pmes[i]));

		if (last && last->end == start) {
			last->end = end;
			continue;
		}
		last = regions_add(to, tp->pid, start, end);
		if (!last)
			return -1;
	}
	return 0;
}

int task_pages_collect(const struct task_pages *tp, struct held_memory *to)
{
	unsigned long last = 0;
	size_t i;

	if (!tp->mm->n_vmas) {
		pr_err("Task %d has its VMAs in an image of an old format\n", tp->pid);
		return -1;
	}
	for (i = 0; i < tp->mm->n_vmas; i++) {
		VmaEntry *e = tp->mm->vmas[i];
		struct region *r;

		if (e->start < last || e->end <= e->start) {
			pr_err("The VMAs of task %d are not sorted\n", tp->pid);
			return -1;
		}
		last = e->end;
		if (!vma_can_be_held(e) || !task_pages_present(tp, e->start, e->end, false))
			continue;
		if (add_stretches(tp, &to->runs, e->start, e->end))
			return -1;
		/* Of a file mapping only what the task has written is its own memory. */
		if (e->status & VMA_FILE_PRIVATE) {
			if (add_stretches(tp, &to->regions, e->start, e->end))
				return -1;
			continue;
		}
		r = regions_add(&to->regions, tp->pid, e->start, e->end);
		if (!r)
			return -1;
		r->map_flags = e->flags & MAP_NORESERVE;
	}
	return 0;
}

int task_pages_read(struct task_pages *tp, const struct region *r, size_t n, bool delta)
{
	struct page_read *pr = tp->pr;
	size_t i = 0;
	int ret;

	pr->reset(pr);
	while ((ret = pr->advance(pr)) > 0) {
		unsigned long at = pr->pe->vaddr, end = entry_end(pr->pe);

		if (delta && pagemap_in_parent(pr->pe)) {
			pr->skip_pages(pr, end - at);
			continue;
		}
		while (at < end) {
			unsigned long stop = end;

			while (i < n && r[i].end <= at)
				i++;
			if (i < n && r[i].start <= at) {
				stop = min(end, r[i].end);
				if (pr->read_pages(pr, at, (stop - at) / KERNEL_PAGE, r[i].addr + (at - r[i].start),
						   0) < 0)
					return -1;
			} else {
				if (i < n)
					stop = min(end, r[i].start);
				pr->skip_pages(pr, stop - at);
			}
			at = stop;
		}
	}
	return ret < 0 || pr->sync(pr) ? -1 : 0;
}

int for_each_task(int (*fn)(pid_t pid, void *arg), void *arg)
{
	struct cr_img *img = open_image(CR_FD_PSTREE, O_RSTR);
	bool any = false;
	int ret;

	if (!img)
		return -1;
	while (1) {
		PstreeEntry *e;

		ret = pb_read_one_eof(img, &e, PB_PSTREE);
		if (ret <= 0)
			break;
		any = true;
		ret = fn(e->pid, arg);
		pstree_entry__free_unpacked(e, NULL);
		if (ret < 0)
			break;
	}
	close_image(img);
	/* To criu a missing image is an empty one. */
	if (!ret && !any) {
		pr_err("There is no process tree in the image directory\n");
		return -1;
	}
	return ret;
}
