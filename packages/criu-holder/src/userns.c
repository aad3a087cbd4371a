/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ids in the images are ids inside the user namespace, so a restore may have
 * any range outside: the map of the request stands in for that of the image.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "types.h"
#include "log.h"
#include "namespaces.h"
#include "pstree.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define IDS_PER_SANDBOX 65536u

int __real_prepare_userns(struct pstree_item *item);
int __wrap_prepare_userns(struct pstree_item *item);

static bool have_base;
static unsigned uid_base;

void userns_use_base(unsigned base)
{
	have_base = true;
	uid_base = base;
}

static int write_map(pid_t pid, const char *name)
{
	char path[64], map[64];
	int fd, n, ok;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = snprintf(map, sizeof(map), "0 %u %u\n", uid_base, IDS_PER_SANDBOX);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		pr_perror("Can't open %s", path);
		return -1;
	}
	ok = write(fd, map, n) == n;
	if (!ok)
		pr_perror("Can't write %s", path);
	close(fd);
	return ok ? 0 : -1;
}

int __wrap_prepare_userns(struct pstree_item *item)
{
	if (!have_base)
		return __real_prepare_userns(item);
	return write_map(item->pid->real, "uid_map") || write_map(item->pid->real, "gid_map") ? -1 : 0;
}
