/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A dump that leaves out what the holder has (environment HOLDER_TAB: its
 * table). A page that a task and the holder map from the same frame was never
 * written since the restore, so its bytes are those of the parent images. criu
 * asks the kernel for dirty pages; we rewrite that answer and criu's own
 * incremental dump does the rest. The result is an ordinary chain of images.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "types.h"
#include "cr_options.h"
#include "image.h"
#include "kerndat.h"
#include "log.h"
#include "page-xfer.h"
#include "pagemap-cache.h"
#include "pagemap.h"
#include "pstree.h"
#include "stats.h"
#include "vma.h"
#include "xmalloc.h"
#include "images/inventory.pb-c.h"
#include "images/pagemap.pb-c.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "delta: "

int __real_cr_dump_tasks(pid_t pid);
int __wrap_cr_dump_tasks(pid_t pid);
int __real_open_page_xfer(struct page_xfer *xfer, int fd_type, unsigned long id);
int __wrap_open_page_xfer(struct page_xfer *xfer, int fd_type, unsigned long id);
InventoryEntry *__real_get_parent_inventory(void);
InventoryEntry *__wrap_get_parent_inventory(void);
int __real_pmc_init(pmc_t *pmc, pid_t pid, const struct list_head *vmas, size_t size);
int __wrap_pmc_init(pmc_t *pmc, pid_t pid, const struct list_head *vmas, size_t size);
int __real_pmc_fill(pmc_t *pmc, u64 start, u64 end);
int __wrap_pmc_fill(pmc_t *pmc, u64 start, u64 end);
int __real_pmc_get_map(pmc_t *pmc, const struct vma_area *vma);
int __wrap_pmc_get_map(pmc_t *pmc, const struct vma_area *vma);
void __real_timing_stop(int timer);
void __wrap_timing_stop(int timer);

static struct held_table table;
static bool delta_on;
static pid_t dumped_vpid;

int __wrap_cr_dump_tasks(pid_t pid)
{
	const char *path = getenv("HOLDER_TAB");

	if (!path)
		return __real_cr_dump_tasks(pid);
	if (!opts.img_parent) {
		pr_err("A delta dump needs --prev-images-dir\n");
		return -1;
	}
	if (!kdat.has_pagemap_scan) {
		pr_err("A delta dump needs PAGEMAP_SCAN (Linux 6.7)\n");
		return -1;
	}
	if (held_table_read(path, &table))
		return -1;
	delta_on = true;
	/* criu believes that the kernel tracks dirty pages; what it reads as such comes from us. */
	kdat.has_dirty_track = true;
	return __real_cr_dump_tasks(pid);
}

/* criu looks up each "in parent" hole in the parent's pagemap. The holder was loaded from there, so every hole is found. */
static int seek_anything(struct page_read *pr, unsigned long addr)
{
	return 1;
}

static void close_nothing(struct page_read *pr)
{
}

int __wrap_open_page_xfer(struct page_xfer *xfer, int fd_type, unsigned long id)
{
	static PagemapEntry everything = PAGEMAP_ENTRY__INIT;
	int ret;

	if (!delta_on)
		return __real_open_page_xfer(xfer, fd_type, id);
	/* Reading the pagemaps of the whole chain is what takes the time. */
	hide_parent_images = true;
	ret = __real_open_page_xfer(xfer, fd_type, id);
	hide_parent_images = false;
	if (ret || fd_type != CR_FD_PAGEMAP)
		return ret;

	everything.nr_pages = ~0ul / KERNEL_PAGE;
	xfer->parent = xzalloc(sizeof(*xfer->parent)); /* criu frees it */
	if (!xfer->parent)
		return -1;
	xfer->parent->pe = &everything;
	xfer->parent->seek_pagemap = seek_anything;
	xfer->parent->close = close_nothing;
	return 0;
}

/* criu compares start times with the parent's dump to find reused pids. Ours are compared page by page. */
InventoryEntry *__wrap_get_parent_inventory(void)
{
	InventoryEntry *e;

	if (!delta_on)
		return __real_get_parent_inventory();
	e = xmalloc(sizeof(*e));
	if (!e)
		return NULL;
	inventory_entry__init(e);
	e->has_dump_uptime = true;
	e->dump_uptime = ~0ull >> 1;
	return e;
}

int __wrap_pmc_init(pmc_t *pmc, pid_t pid, const struct list_head *vmas, size_t size)
{
	struct pstree_item *item;

	if (delta_on) {
		dumped_vpid = 0;
		for_each_pstree_item(item)
			if (item->pid->real == pid)
				dumped_vpid = vpid(item);
		/* Only while pages are looked at: else criu would reset the kernel's dirty bits afterwards. */
		opts.track_mem = true;
	}
	return __real_pmc_init(pmc, pid, vmas, size);
}

void __wrap_timing_stop(int timer)
{
	if (delta_on && timer == TIME_MEMDUMP)
		opts.track_mem = false;
	__real_timing_stop(timer);
}

/* Documentation/admin-guide/mm/pagemap.rst */
#define PME_IS_PRESENT (1ull << 63)
#define PME_EXCLUSIVE (1ull << 56)
#define PME_FRAME ((1ull << 55) - 1)

static bool same_page(u64 task, u64 holder)
{
	return (task & PME_IS_PRESENT) && (holder & PME_IS_PRESENT) && (task & PME_FRAME) &&
	       (task & PME_FRAME) == (holder & PME_FRAME) && !(task & PME_EXCLUSIVE);
}

struct answer {
	struct page_region *v;
	size_t nr, cap;
};

static int answer_add(struct answer *a, u64 start, u64 end, u64 categories)
{
	struct page_region *last = a->nr ? &a->v[a->nr - 1] : NULL;

	if (last && last->end == start && last->categories == categories) {
		last->end = end;
		return 0;
	}
	if (a->nr == a->cap) {
		size_t cap = a->cap * 2;
		struct page_region *v = xrealloc(a->v, cap * sizeof(*v));

		if (!v)
			return -1;
		a->v = v;
		a->cap = cap;
	}
	a->v[a->nr++] = (struct page_region){ .start = start, .end = end, .categories = categories };
	return 0;
}

#define CHUNK_PAGES 8192ul

static bool read_entries(int fd, unsigned long addr, size_t n, u64 *to)
{
	ssize_t len = n * sizeof(*to);

	return pread(fd, to, len, addr / KERNEL_PAGE * sizeof(*to)) == len;
}

/* Answers for [start, end), which lies in the held run `r`. What can't be compared counts as written. */
static int answer_held(struct answer *a, pmc_t *pmc, const struct region *r, u64 start, u64 end, u64 categories)
{
	static u64 task[CHUNK_PAGES], holder[CHUNK_PAGES];

	while (start < end) {
		size_t n = min_t(u64, (end - start) / KERNEL_PAGE, CHUNK_PAGES), i;
		bool known = read_entries(pmc->fd, start, n, task) &&
			     read_entries(table.pagemap_fd, (unsigned long)r->addr + (start - r->start), n, holder);

		for (i = 0; i < n; i++, start += KERNEL_PAGE) {
			bool same = known && same_page(task[i], holder[i]);

			if (answer_add(a, start, start + KERNEL_PAGE,
				       same ? categories & ~PAGE_IS_SOFT_DIRTY : categories | PAGE_IS_SOFT_DIRTY))
				return -1;
		}
	}
	return 0;
}

/* Goes through the kernel's answer and marks what the task has written since the restore. */
static int rewrite_answer(pmc_t *pmc)
{
	struct answer a = { .cap = max_t(size_t, pmc->regs_len * 2 + 1024, pmc->regs_max_len) };
	size_t i;

	if (!delta_on || !pmc->regs)
		return 0;
	a.v = xmalloc(a.cap * sizeof(*a.v));
	if (!a.v)
		return -1;
	for (i = 0; i < pmc->regs_len; i++) {
		struct page_region got = pmc->regs[i];

		while (got.start < got.end) {
			const struct region *r = regions_find(&table.runs, dumped_vpid, got.start);
			bool is_held = r && r->start <= got.start;
			u64 stop = got.end;
			int ret;

			if (is_held)
				stop = min_t(u64, stop, r->end);
			else if (r)
				stop = min_t(u64, stop, r->start);
			if (is_held)
				ret = answer_held(&a, pmc, r, got.start, stop, got.categories);
			else
				ret = answer_add(&a, got.start, stop, got.categories | PAGE_IS_SOFT_DIRTY);
			if (ret) {
				xfree(a.v);
				return -1;
			}
			got.start = stop;
		}
	}
	/* Not smaller than before: the kernel writes up to regs_max_len into it next time. */
	xfree(pmc->regs);
	pmc->regs = a.v;
	pmc->regs_len = a.nr;
	pmc->regs_idx = 0;
	return 0;
}

int __wrap_pmc_fill(pmc_t *pmc, u64 start, u64 end)
{
	return __real_pmc_fill(pmc, start, end) || rewrite_answer(pmc) ? -1 : 0;
}

int __wrap_pmc_get_map(pmc_t *pmc, const struct vma_area *vma)
{
	bool cached = pmc->start <= vma->e->start && pmc->end >= vma->e->end;

	/* The kernel reports nothing for the vDSO, criu dumps it whole: without an answer of ours it would count as a hole. */
	if (delta_on && pmc->regs && vma_area_is(vma, VMA_AREA_VDSO)) {
		pmc->start = vma->e->start;
		pmc->end = vma->e->end;
		pmc->regs[0] = (struct page_region){ .start = vma->e->start,
						     .end = vma->e->end,
						     .categories = PAGE_IS_PRESENT | PAGE_IS_SOFT_DIRTY };
		pmc->regs_len = 1;
		pmc->regs_idx = 0;
		return 0;
	}
	if (__real_pmc_get_map(pmc, vma))
		return -1;
	return cached ? 0 : rewrite_answer(pmc);
}
