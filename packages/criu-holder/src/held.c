/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/mman.h>

#include "types.h"
#include "image.h"
#include "log.h"
#include "mman.h"
#include "images/vma.pb-c.h"
#include "holder.h"

struct held_memory held;
bool restoring_from_held;
bool hide_parent_images;
bool hold_file_mappings = true;

/*
 * Not held, criu reads these as always: stacks that grow down (their guard page
 * has rules of its own), huge TLB pages, kernel-made mappings, shadow stacks,
 * and MAP_DROPPABLE, which is the vDSO's getrandom state: its pages must never
 * be filled, or all children would draw the same keys.
 */
bool vma_can_be_held(const VmaEntry *e)
{
	const uint32_t never = VMA_AREA_VSYSCALL | VMA_AREA_VDSO | VMA_AREA_VVAR | VMA_AREA_SYSVIPC | VMA_AREA_SOCKET |
			       VMA_AREA_AIORING | VMA_AREA_SHSTK | VMA_AREA_GUARD | VMA_AREA_UPROBES | VMA_EXT_PLUGIN |
			       VMA_ANON_SHARED;

	if (!(e->status & VMA_AREA_REGULAR) || (e->status & never))
		return false;
	if (e->flags & (MAP_HUGETLB | MAP_GROWSDOWN | MAP_DROPPABLE))
		return false;
	if (e->status & VMA_FILE_PRIVATE)
		return hold_file_mappings;
	return e->status & VMA_ANON_PRIVATE;
}

static uint64_t total(const struct region_table *t)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < t->nr; i++)
		sum += region_len(&t->v[i]);
	return sum;
}

uint64_t held_bytes(void)
{
	return total(&held.regions);
}

uint64_t held_populated_bytes(void)
{
	return total(&held.runs);
}

size_t held_tasks(void)
{
	return held.areas.nr;
}
