/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu forgets on which CPUs a task may run. The dump writes a table beside the
 * images, one line "PID MASK" for each task (its id inside, its first 64 *
 * WORDS CPUs in hexadecimal, lowest first); in a restore each task sets its own
 * mask before it makes its threads, which take it over.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "types.h"
#include "log.h"
#include "pstree.h"
#include "servicefd.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define TABLE_NAME "affinity.tab"
#define WORDS 16

struct mask {
	unsigned long word[WORDS];
};

static FILE *table_open(int flags, const char *mode)
{
	int fd = openat(get_service_fd(IMG_FD_OFF), TABLE_NAME, flags | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, mode);

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

int affinity_dump(void)
{
	struct pstree_item *item;
	FILE *file = table_open(O_WRONLY | O_CREAT | O_TRUNC, "w");
	int i;

	if (!file) {
		pr_perror("Can't make " TABLE_NAME);
		return -1;
	}
	for_each_pstree_item(item) {
		struct mask mask = {};

		if (!task_alive(item))
			continue;
		if (sched_getaffinity(item->pid->real, sizeof(mask), (cpu_set_t *)&mask)) {
			pr_perror("Can't get the CPUs of %d", item->pid->real);
			fclose(file);
			return -1;
		}
		fprintf(file, "%d", vpid(item));
		for (i = 0; i < WORDS; i++)
			fprintf(file, " %lx", mask.word[i]);
		fputc('\n', file);
	}
	if (ferror(file) | fclose(file)) {
		pr_perror("Can't write " TABLE_NAME);
		return -1;
	}
	return 0;
}

/* In the task itself. CPUs that this machine or the sandbox's group does not have are no reason to fail. */
void affinity_restore(pid_t pid)
{
	FILE *file = table_open(O_RDONLY, "r");
	char line[32 + WORDS * 20];

	/* Images of a dump that wrote none. */
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		struct mask mask = {};
		int at, n, i, task;

		if (sscanf(line, "%d%n", &task, &at) != 1 || task != pid)
			continue;
		for (i = 0; i < WORDS && sscanf(line + at, " %lx%n", &mask.word[i], &n) == 1; i++)
			at += n;
		if (sched_setaffinity(0, sizeof(mask), (cpu_set_t *)&mask))
			pr_warn("Task %d may not run on its CPUs: %s\n", pid, strerror(errno));
		break;
	}
	fclose(file);
}
