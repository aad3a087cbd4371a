/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The restore side, what criu maps: where it would map a VMA, the held region is
 * there already. The VMA is marked "premapped" at the region's address and the
 * restorer moves it home as it does with its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "types.h"
#include "cr_options.h"
#include "image.h"
#include "kerndat.h"
#include "log.h"
#include "mem.h"
#include "pstree.h"
#include "rst_info.h"
#include "vma.h"
#include "xmalloc.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int __real_prepare_mappings(struct pstree_item *item);
int __wrap_prepare_mappings(struct pstree_item *item);
int __real_rst_mem_remap(void *to);
int __wrap_rst_mem_remap(void *to);

static int take_region(struct vma_area *vma, unsigned long at)
{
	unsigned long len = vma_area_len(vma);

	/* The restorer takes write permission away where needed but does not add execute. */
	if ((vma->e->prot & PROT_WRITE) && vma->e->prot != (PROT_READ | PROT_WRITE) &&
	    mprotect((void *)at, len, vma->e->prot)) {
		pr_perror("mprotect of held memory for %" PRIx64, vma->e->start);
		return -1;
	}
	if ((vma->e->flags & MAP_LOCKED) && mlock((void *)at, len)) {
		pr_perror("mlock of held memory for %" PRIx64, vma->e->start);
		return -1;
	}
	vma->e->status |= VMA_PREMMAPED;
	vma->e->status &= ~VMA_NO_PROT_WRITE;
	vma->premmaped_addr = at;
	return 0;
}

static const struct region *region_of(pid_t pid, const struct vma_area *vma)
{
	if (vma_area_is(vma, VMA_AREA_GUARD) || !vma_can_be_held(vma->e))
		return NULL;
	return regions_exact(&held.regions, pid, vma->e->start, vma->e->end);
}

static size_t regions_of(pid_t pid)
{
	const struct region *r;
	size_t n = 0;

	for (r = regions_find(&held.regions, pid, 0); r; r = regions_next(&held.regions, r))
		n++;
	return n;
}

/*
 * criu premapped something itself (a stack with a neighbour right below, a
 * shadow stack). The restorer knows one premapped area only, so its pieces and
 * ours are moved into a new one.
 */
static int merge_areas(struct pstree_item *item)
{
	struct vm_area_list *list = &rsti(item)->vmas;
	struct region_table pieces = {};
	struct area_list joined = {};
	struct vma_area *vma;
	size_t i = 0;
	int ret = -1;

	if (kdat.stack_guard_gap_hidden) {
		pr_err("Held memory beside criu's own needs a kernel that shows stack guard pages\n");
		return -1;
	}
	list_for_each_entry(vma, &list->h, list)
		if (vma_area_is(vma, VMA_PREMMAPED) || region_of(vpid(item), vma))
			if (!regions_add(&pieces, vpid(item), vma->e->start, vma->e->end))
				goto out;
	if (area_place(&joined, vpid(item), pieces.v, pieces.nr))
		goto out;

	list_for_each_entry(vma, &list->h, list) {
		const struct region *r = region_of(vpid(item), vma);
		unsigned long from, to, len = vma_area_len(vma);

		if (r)
			from = (unsigned long)r->addr;
		else if (vma_area_is(vma, VMA_PREMMAPED))
			from = vma->premmaped_addr;
		else
			continue;
		to = (unsigned long)pieces.v[i++].addr;
		if (mremap((void *)from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to) != (void *)to) {
			pr_perror("Can't move memory for %" PRIx64, vma->e->start);
			goto out;
		}
		if (r && take_region(vma, to))
			goto out;
		vma->premmaped_addr = to;
	}
	rsti(item)->premmapped_addr = (void *)joined.v[0].lo;
	rsti(item)->premmapped_len = joined.v[0].hi - joined.v[0].lo;
	ret = 0;
out:
	regions_free(&pieces);
	free(joined.v);
	return ret;
}

/* Whether the restorer will move all pieces home: see area.c. It would leave others behind without a word. */
static bool all_get_home(const struct vm_area_list *list)
{
	struct vma_area *vma;
	bool up = false;

	list_for_each_entry(vma, &list->h, list) {
		if (!vma_area_is(vma, VMA_PREMMAPED))
			continue;
		if (vma->e->start > vma->premmaped_addr)
			up = true;
		else if (vma->e->start < vma->premmaped_addr && up)
			return false;
	}
	return true;
}

static int take_area(struct pstree_item *item, const struct area *area)
{
	struct vma_area *vma;

	list_for_each_entry(vma, &rsti(item)->vmas.h, list) {
		const struct region *r = region_of(vpid(item), vma);

		if (r && take_region(vma, (unsigned long)r->addr))
			return -1;
	}
	rsti(item)->premmapped_addr = (void *)area->lo;
	rsti(item)->premmapped_len = area->hi - area->lo;
	return 0;
}

int __wrap_prepare_mappings(struct pstree_item *item)
{
	struct vm_area_list *list = &rsti(item)->vmas;
	struct area *area = area_of(&held.areas, vpid(item));
	int ret = __real_prepare_mappings(item);
	struct vma_area *vma;
	size_t taken = 0;

	opts.lazy_pages = false;
	if (restoring_from_held)
		task_settings_restore(vpid(item));
	if (!restoring_from_held || ret < 0 || !list->nr || !area)
		return ret;

	list_for_each_entry(vma, &list->h, list)
		if (region_of(vpid(item), vma))
			taken++;
	/* Their pages were skipped, so a region without a VMA would be lost memory. */
	if (taken != regions_of(vpid(item))) {
		pr_err("Task %d: %zu held regions, but VMAs for %zu\n", vpid(item), regions_of(vpid(item)), taken);
		return -1;
	}
	if (rsti(item)->premmapped_len ? merge_areas(item) : take_area(item, area))
		return -1;
	if (!all_get_home(list)) {
		pr_err("Task %d: held memory lies so that the restorer can't move it\n", vpid(item));
		return -1;
	}
	return 0;
}

struct span {
	unsigned long lo, hi;
};

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Unmaps what lies between the premapped VMAs: the restorer would leave it in the restored task. */
static int drop_holes(struct pstree_item *item)
{
	unsigned long at = (unsigned long)rsti(item)->premmapped_addr, end = at + rsti(item)->premmapped_len;
	struct vm_area_list *list = &rsti(item)->vmas;
	struct span *spans = xmalloc((list->nr + 1) * sizeof(*spans));
	struct vma_area *vma;
	size_t n = 0, i;
	int ret = 0;

	if (!spans)
		return -1;
	list_for_each_entry(vma, &list->h, list)
		if (vma_area_is(vma, VMA_PREMMAPED))
			spans[n++] = (struct span){ vma->premmaped_addr, vma->premmaped_addr + vma_area_len(vma) };
	spans[n++] = (struct span){ end, end };
	qsort(spans, n, sizeof(*spans), compare_spans);
	for (i = 0; i < n; i++) {
		if (spans[i].lo > at && munmap((void *)at, spans[i].lo - at)) {
			pr_perror("Can't unmap the hole at %lx", at);
			ret = -1;
			break;
		}
		at = spans[i].hi;
	}
	xfree(spans);
	return ret;
}

/* criu calls this when it has found the place for its restorer; nothing of ours or criu's is mapped after it. */
int __wrap_rst_mem_remap(void *to)
{
	if (restoring_from_held && area_of(&held.areas, vpid(current)) && drop_holes(current))
		return -1;
	return __real_rst_mem_remap(to);
}
