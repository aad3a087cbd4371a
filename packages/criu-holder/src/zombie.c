/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu gives a zombie back with the low seven bits of its exit code: 128
 * becomes 0 and 255 becomes 127. The task ends by exit() with that number;
 * here it gets the eighth bit back.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "types.h"
#include "image.h"
#include "protobuf.h"
#include "images/core.pb-c.h"

int __real_lazy_pages_setup_zombie(int pid);
int __wrap_lazy_pages_setup_zombie(int pid);
void __real_exit(int code) __attribute__((noreturn));
void __wrap_exit(int code) __attribute__((noreturn));

/* In a task that is to be a zombie by itself; not in one that a signal has killed. */
static int exit_code = -1;

/* The last that criu calls in such a task before it ends it. */
int __wrap_lazy_pages_setup_zombie(int pid)
{
	struct cr_img *img = open_image(CR_FD_CORE, O_RSTR, pid);
	CoreEntry *core = NULL;

	if (!img)
		return -1;
	if (pb_read_one(img, &core, PB_CORE) <= 0) {
		close_image(img);
		return -1;
	}
	close_image(img);
	if (!(core->tc->exit_code & 0x7f))
		exit_code = (core->tc->exit_code >> 8) & 0xff;
	core_entry__free_unpacked(core, NULL);
	return __real_lazy_pages_setup_zombie(pid);
}

void __wrap_exit(int code)
{
	__real_exit(exit_code >= 0 && code == (exit_code & 0x7f) ? exit_code : code);
}
