/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A holder made from a holder. The process is a fork, so it has the parent's
 * pages already. The old regions are moved, cut or grown to the new list of
 * VMAs, what the child had dropped is dropped, and the pages of the delta are
 * read over the rest.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "types.h"
#include "image.h"
#include "log.h"
#include "page.h"
#include "pagemap.h"
#include "servicefd.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

/*
 * From this many written pages on, a block gets a huge page of its own again:
 * 2 MiB more memory, but one page table entry per child in place of 512.
 */
#define RECOLLAPSE_PAGES 128

/* Keeps the place taken until the whole old area goes; see area.c for why. */
static int plug(char *at, unsigned long len)
{
	if (mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) !=
	    at) {
		pr_perror("Can't plug %p after a move", at);
		return -1;
	}
	return 0;
}

/* A range that the kernel keeps as several VMAs moves only piece by piece (EFAULT otherwise). */
static int move(char *from, unsigned long len, char *to)
{
	unsigned long half = (len / 2) & ~(KERNEL_PAGE - 1);

	if (mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
		return plug(from, len);
	if (errno != EFAULT || !half) {
		pr_perror("Can't move %lu bytes from %p", len, from);
		return -1;
	}
	return move(from, half, to) || move(from + half, len - half, to + half) ? -1 : 0;
}

/*
 * What was added behind a piece is made by growing the piece, not by a mapping
 * of its own: else the program's one VMA would be two in the kernel, and its
 * next mremap() would fail.
 */
static int move_and_grow(char *from, unsigned long len, const struct region *r, unsigned long offset,
			 unsigned long new_len)
{
	char *to = r->addr + offset;

	if (new_len > len) {
		if (mremap(from, len, new_len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
			return plug(from, len);
		if (errno != EFAULT) {
			pr_perror("Can't grow %lu bytes at %p to %lu", len, from, new_len);
			return -1;
		}
		if (region_map(r, offset, new_len))
			return -1;
	}
	return move(from, len, to);
}

static int fill_from_old(const struct region_table *old, const struct region *r)
{
	const struct region *o = regions_find(old, r->pid, r->start);
	unsigned long fresh_to = o && o->start < r->end ? o->start : r->end;

	if (fresh_to > r->start && region_map(r, 0, fresh_to - r->start))
		return -1;
	while (o && o->start < r->end) {
		const struct region *next = regions_next(old, o);
		unsigned long start = o->start > r->start ? o->start : r->start;
		unsigned long end = o->end < r->end ? o->end : r->end;
		unsigned long until = next && next->start < r->end ? next->start : r->end;

		if (move_and_grow(o->addr + (start - o->start), end - start, r, start - r->start, until - start))
			return -1;
		o = next;
	}
	return 0;
}

/* Empties what the snapshot has no page for: the child dropped it, so it reads as zeros. */
static int drop_absent(const struct region *r, const struct region_table *runs)
{
	const struct region *run = regions_find(runs, r->pid, r->start);
	unsigned long at = r->start;

	while (at < r->end) {
		unsigned long stop = run && run->start < r->end ? run->start : r->end;

		if (stop > at && madvise(r->addr + (at - r->start), stop - at, MADV_DONTNEED)) {
			pr_perror("Can't drop %lx-%lx of task %d", at, stop, r->pid);
			return -1;
		}
		if (stop == r->end)
			break;
		at = run->end;
		run = regions_next(runs, run);
	}
	return 0;
}

enum when { BEFORE_READING, AFTER_READING };

static int make_huge(const struct task_pages *tp, const struct region *r, enum when when)
{
	unsigned long at = task_pages_next_block(tp, r->start, r->end);

	for (; at < r->end; at = task_pages_next_block(tp, at + HUGE_SIZE, r->end)) {
		unsigned long own = task_pages_present(tp, at, at + HUGE_SIZE, true);
		char *block = r->addr + (at - r->start);

		if (when == BEFORE_READING) {
			if (own != HUGE_SIZE)
				continue;
			if (madvise(block, HUGE_SIZE, MADV_DONTNEED)) {
				pr_perror("Can't empty the block at %p", block);
				return -1;
			}
			*(volatile char *)block = 0;
		} else if (own == HUGE_SIZE || own < RECOLLAPSE_PAGES * KERNEL_PAGE ||
			   task_pages_present(tp, at, at + HUGE_SIZE, false) != HUGE_SIZE)
			continue;
		if (madvise(block, HUGE_SIZE, MADV_COLLAPSE))
			pr_debug("No huge page at %p\n", block);
	}
	return 0;
}

/* A page that the delta leaves to the parent must be one that the parent holds. */
static int check_inherited(const struct task_pages *tp, const struct region *r, const struct region_table *old_runs)
{
	int i;

	for (i = task_pages_first(tp, r->start); i < tp->pr->nr_pmes && tp->pr->pmes[i]->vaddr < r->end; i++) {
		PagemapEntry *e = tp->pr->pmes[i];
		unsigned long at = e->vaddr > r->start ? e->vaddr : r->start;
		unsigned long end = e->vaddr + e->nr_pages * KERNEL_PAGE;

		end = end < r->end ? end : r->end;
		while (pagemap_in_parent(e) && at < end) {
			const struct region *o = regions_find(old_runs, r->pid, at);

			if (!o || o->start > at) {
				pr_err("Page %lx of task %d is left to a parent that does not hold it\n", at, r->pid);
				return -1;
			}
			at = o->end;
		}
	}
	return 0;
}

static int derive_task(pid_t pid, void *arg)
{
	struct held_memory *old = arg;
	size_t first = held.regions.nr, first_run = held.runs.nr, n, i;
	struct region_table runs;
	struct task_pages tp;
	int ret = task_pages_open(&tp, pid, true);

	if (ret <= 0)
		return ret;
	ret = -1;
	if (task_pages_collect(&tp, &held))
		goto out;
	n = held.regions.nr - first;
	if (area_place(&held.areas, pid, held.regions.v + first, n))
		goto out;
	/* The runs of this task alone: sorted already, the whole table is not yet. */
	runs = (struct region_table){ .v = held.runs.v + first_run, .nr = held.runs.nr - first_run };
	for (i = first; i < first + n; i++) {
		const struct region *r = &held.regions.v[i];

		if (check_inherited(&tp, r, &old->runs) || fill_from_old(&old->regions, r) || drop_absent(r, &runs) ||
		    make_huge(&tp, r, BEFORE_READING))
			goto out;
	}
	if (task_pages_read(&tp, held.regions.v + first, n, true))
		goto out;
	for (i = first; i < first + n; i++)
		if (make_huge(&tp, &held.regions.v[i], AFTER_READING))
			goto out;
	ret = 0;
out:
	task_pages_close(&tp);
	return ret;
}

/*
 * The pages that the images leave to their parent are taken from what is held.
 * A link to any other parent would fit in form and be wrong in content.
 */
static int check_parent(const struct held_memory *old)
{
	struct stat st;
	int fd, bad;

	if (open_parent(get_service_fd(IMG_FD_OFF), &fd))
		return -1;
	if (fd < 0)
		return 0; /* a full dump leaves nothing to anybody */
	bad = fstat(fd, &st) || st.st_dev != old->images_dev || st.st_ino != old->images_ino;
	close(fd);
	if (bad)
		pr_err("The parent of these images is not the snapshot that is held\n");
	return bad ? -1 : 0;
}

int derive_snapshot(void)
{
	struct held_memory old = held;
	int ret;

	if (check_parent(&old))
		return -1;
	held = (struct held_memory){ .generation = old.generation + 1 };
	ret = for_each_task(derive_task, &old);
	if (!ret)
		ret = held_complete();
	areas_unmap(&old.areas);
	regions_free(&old.regions);
	regions_free(&old.runs);
	return ret < 0 ? -1 : 0;
}
