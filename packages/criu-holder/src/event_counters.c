/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu forgets that an eventfd counts as a semaphore, and what of its count is
 * above 32 bits. The dump writes a table beside the images, one line
 * "ID SEMAPHORE COUNT" (hexadecimal) for each eventfd that is not plain; a
 * restore looks there whenever it has opened one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "types.h"
#include "eventfd.h"
#include "files.h"
#include "log.h"
#include "util.h"
#include "holder.h"
#include "images/fdinfo.pb-c.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define TABLE_NAME "eventfd.tab"

extern const struct fdtype_ops __real_eventfd_dump_ops;
int __real_file_desc_add(struct file_desc *d, u32 id, struct file_desc_ops *ops);
int __wrap_file_desc_add(struct file_desc *d, u32 id, struct file_desc_ops *ops);
int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);

struct counter {
	unsigned semaphore;
	unsigned long long count;
};

/* Linux tells of the semaphore since 6.5 (fs/eventfd.c, eventfd_show_fdinfo). */
static int read_counter(int fd, struct counter *out)
{
	char line[128];
	FILE *file = fopen_proc(PROC_SELF, "fdinfo/%d", fd);

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "eventfd-count: %llx", &out->count);
		sscanf(line, "eventfd-semaphore: %u", &out->semaphore);
	}
	fclose(file);
	return 0;
}

static int dump_eventfd(int lfd, u32 id, const struct fd_parms *p)
{
	struct counter c = {};
	FILE *file;

	if (read_counter(lfd, &c))
		return -1;
	if (c.semaphore || c.count >> 32) {
		file = image_table_open(TABLE_NAME, O_WRONLY | O_CREAT | O_APPEND, "a");
		if (!file) {
			pr_perror("Can't make " TABLE_NAME);
			return -1;
		}
		fprintf(file, "%x %x %llx\n", id, c.semaphore, c.count);
		if (ferror(file) | fclose(file)) {
			pr_perror("Can't write " TABLE_NAME);
			return -1;
		}
	}
	return __real_eventfd_dump_ops.dump(lfd, id, p);
}

const struct fdtype_ops __wrap_eventfd_dump_ops = {
	.type = FD_TYPES__EVENTFD,
	.dump = dump_eventfd,
};

static struct file_desc_ops counter_ops;
static int (*real_open)(struct file_desc *d, int *new_fd);
/* Of the eventfd that is being opened, if it is not plain. */
static const struct counter *opening;

static bool find_counter(u32 id, struct counter *out)
{
	FILE *file = image_table_open(TABLE_NAME, O_RDONLY, "r");
	bool found = false;
	unsigned at;

	if (!file)
		return false;
	while (!found && fscanf(file, "%x %x %llx", &at, &out->semaphore, &out->count) == 3)
		found = at == id;
	fclose(file);
	return found;
}

static int open_eventfd(struct file_desc *d, int *new_fd)
{
	struct counter c;
	int ret;

	if (find_counter(d->id, &c))
		opening = &c;
	ret = real_open(d, new_fd);
	opening = NULL;
	return ret;
}

int __wrap_eventfd(unsigned count, int flags)
{
	int fd;

	if (!opening)
		return __real_eventfd(count, flags);
	fd = __real_eventfd(0, opening->semaphore ? EFD_SEMAPHORE : 0);
	if (fd >= 0 && write(fd, &opening->count, sizeof(opening->count)) != sizeof(opening->count)) {
		pr_perror("Can't set the count of an eventfd");
		close(fd);
		return -1;
	}
	return fd;
}

int __wrap_file_desc_add(struct file_desc *d, u32 id, struct file_desc_ops *ops)
{
	if (ops->type == FD_TYPES__EVENTFD) {
		real_open = ops->open;
		counter_ops = *ops;
		counter_ops.open = open_eventfd;
		ops = &counter_ops;
	}
	return __real_file_desc_add(d, id, ops);
}
