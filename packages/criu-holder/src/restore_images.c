/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The restore side, what criu reads: the list of VMAs is cut where held memory
 * begins and ends, and held pages are skipped.
 */
#include <sys/mman.h>

#include "types.h"
#include "cr_options.h"
#include "image.h"
#include "log.h"
#include "mem.h"
#include "mman.h"
#include "pagemap.h"
#include "pstree.h"
#include "rst_info.h"
#include "vma.h"
#include "xmalloc.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int __real_prepare_mm_pid(struct pstree_item *item);
int __wrap_prepare_mm_pid(struct pstree_item *item);
void __real_prepare_cow_vmas(void);
void __wrap_prepare_cow_vmas(void);
int __real_open_parent(int dfd, int *pfd);
int __wrap_open_parent(int dfd, int *pfd);
int __real_open_page_read(unsigned long id, struct page_read *pr, int flags);
int __wrap_open_page_read(unsigned long id, struct page_read *pr, int flags);

/* Cuts `vma` at `at`; returns the upper part, which stands behind it in the list. */
static struct vma_area *cut_vma(struct vm_area_list *list, struct vma_area *vma, unsigned long at)
{
	struct vma_area *upper = alloc_vma_area();

	if (!upper)
		return NULL;
	*upper->e = *vma->e;
	upper->vm_open = vma->vm_open;
	upper->vmfd = vma->vmfd;
	upper->pvma = NULL;
	upper->e->start = at;
	upper->e->pgoff += at - vma->e->start;
	vma->e->end = at;
	list_add(&upper->list, &vma->list);
	list->nr++;
	return upper;
}

static void make_anonymous(struct vma_area *vma)
{
	vma->e->status = (vma->e->status & ~VMA_FILE_PRIVATE) | VMA_ANON_PRIVATE;
	vma->e->flags |= MAP_ANONYMOUS;
	vma->e->shmid = 0;
	vma->e->pgoff = 0;
	vma->e->fd = -1;
	vma->vm_open = NULL;
	vma->vmfd = NULL;
}

/* A written run of a file mapping is held, so it becomes an anonymous VMA between two file VMAs; there may be many. */
static int cut_file_vma(struct vm_area_list *list, struct vma_area *vma, pid_t pid)
{
	unsigned long end = vma->e->end;
	const struct region *r;

	for (r = regions_find(&held.regions, pid, vma->e->start); r && r->start < end;
	     r = regions_next(&held.regions, r)) {
		struct vma_area *rest = NULL;

		if (r->start > vma->e->start) {
			vma = cut_vma(list, vma, r->start);
			if (!vma)
				return -1;
		}
		if (r->end < end) {
			rest = cut_vma(list, vma, r->end);
			if (!rest)
				return -1;
		}
		make_anonymous(vma);
		if (!rest)
			break;
		vma = rest;
	}
	return 0;
}

int __wrap_prepare_mm_pid(struct pstree_item *item)
{
	struct vm_area_list *list = &rsti(item)->vmas;
	struct vma_area *vma, *next;
	int ret = __real_prepare_mm_pid(item);

	if (!restoring_from_held || ret < 0)
		return ret;
	list_for_each_entry_safe(vma, next, &list->h, list)
		if (vma_can_be_held(vma->e) && (vma->e->status & VMA_FILE_PRIVATE) &&
		    cut_file_vma(list, vma, vpid(item)))
			return -1;
	return ret;
}

/* Sharing between a task and its children is the business of the held memory alone. */
void __wrap_prepare_cow_vmas(void)
{
	if (!restoring_from_held)
		__real_prepare_cow_vmas();
}

int __wrap_open_parent(int dfd, int *pfd)
{
	if (!hide_parent_images)
		return __real_open_parent(dfd, pfd);
	*pfd = -1;
	return 0;
}

/* Splits entry `e` at region borders into `out`; parts that are held are marked for criu's "lazy" branch, which skips them. */
static int split_entry(unsigned long pid, const PagemapEntry *e, PagemapEntry **out)
{
	unsigned long at = e->vaddr, end = e->vaddr + e->nr_pages * KERNEL_PAGE;
	int n = 0;

	while (at < end) {
		const struct region *r = regions_find(&held.regions, pid, at);
		bool is_held = r && r->start <= at;
		unsigned long stop = end;

		if (is_held)
			stop = min(end, r->end);
		else if (r)
			stop = min(end, r->start);
		if (out) {
			PagemapEntry *part = xmalloc(sizeof(*part));

			if (!part)
				return -1;
			*part = *e;
			part->vaddr = at;
			part->nr_pages = (stop - at) / KERNEL_PAGE;
			part->flags = is_held ? part->flags | PE_LAZY : part->flags & ~PE_LAZY;
			out[n] = part;
		}
		n++;
		at = stop;
	}
	return n;
}

/* In a restored task only what is not held is read, and that is always in this directory itself: no parents are opened. */
int __wrap_open_page_read(unsigned long id, struct page_read *pr, int flags)
{
	PagemapEntry **parts;
	size_t count = 0;
	int ret, i, n;

	if (!restoring_from_held)
		return __real_open_page_read(id, pr, flags);

	hide_parent_images = true;
	ret = __real_open_page_read(id, pr, flags);
	hide_parent_images = false;
	/* Shared memory is not held, and dumped in full each time. */
	if (ret <= 0 || (flags & PR_TYPE_MASK) != PR_TASK)
		return ret;

	for (i = 0; i < pr->nr_pmes; i++)
		count += split_entry(id, pr->pmes[i], NULL);
	parts = xmalloc((count + 1) * sizeof(*parts));
	if (!parts)
		return -1;
	count = 0;
	for (i = 0; i < pr->nr_pmes; i++) {
		n = split_entry(id, pr->pmes[i], parts + count);
		if (n < 0)
			return -1; /* this process is about to fail and exit: the parts go with it */
		count += n;
		xfree(pr->pmes[i]);
	}
	xfree(pr->pmes);
	pr->pmes = parts;
	pr->nr_pmes = count;
	/* restore_memory.c takes it back. */
	opts.lazy_pages = true;
	return ret;
}
