/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random bytes from the vDSO, as glibc draws them from 2.41 on and Go does: the
 * generator's state lies in this process's memory (MAP_DROPPABLE). Whoever
 * copies that memory copies the keys to come.
 */
#ifndef VGETRANDOM_H
#define VGETRANDOM_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

typedef ssize_t (*vgetrandom_fn)(void *buffer, size_t len, unsigned flags, void *state, size_t state_len);

/* include/uapi/linux/random.h */
struct vgetrandom_params {
	uint32_t size, mmap_prot, mmap_flags, reserved[13];
};

/* Finds __vdso_getrandom in the vDSO's dynamic symbols; NULL before Linux 6.11. */
static vgetrandom_fn vgetrandom_find(void)
{
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)base;
	const Elf64_Shdr *sections = base ? (const void *)(base + header->e_shoff) : NULL;
	size_t s, i;

	for (s = 0; base && s < header->e_shnum; s++) {
		const Elf64_Sym *symbols = (const void *)(base + sections[s].sh_offset);
		const char *names = base + sections[sections[s].sh_link].sh_offset;

		if (sections[s].sh_type != SHT_DYNSYM)
			continue;
		for (i = 0; i < sections[s].sh_size / sizeof(*symbols); i++)
			if (!strcmp(names + symbols[i].st_name, "__vdso_getrandom"))
				return (vgetrandom_fn)(base + symbols[i].st_value);
	}
	return NULL;
}

/* Memory for one generator. */
static void *vgetrandom_state(vgetrandom_fn draw, size_t *size)
{
	struct vgetrandom_params p;
	void *state;

	if (draw(NULL, 0, 0, &p, ~0ul))
		return NULL;
	*size = p.size;
	state = mmap(NULL, 4096, p.mmap_prot, p.mmap_flags, -1, 0);
	return state == MAP_FAILED ? NULL : state;
}

#endif
