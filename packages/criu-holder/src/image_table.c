/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of ours beside the images: what criu has no place for in its own. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "types.h"
#include "servicefd.h"
#include "holder.h"

FILE *image_table_open(const char *name, int flags, const char *mode)
{
	int fd = openat(get_service_fd(IMG_FD_OFF), name, flags | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, mode);

	if (fd >= 0 && !file)
		close(fd);
	return file;
}
