/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu forgets on which CPUs a task may run, its personality, its timer slack
 * and its I/O priority. The dump writes a table beside the images, one line
 * "PID PERSONALITY SLACK IOPRIO MASK" for each task (its id inside; the mask its
 * first 64 * WORDS CPUs in hexadecimal, lowest first); in a restore each task
 * takes them before it makes its threads, which take them over. A thread with
 * another mask has a line "-TID ...", and gets it from outside, before anyone
 * runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "types.h"
#include "log.h"
#include "pstree.h"
#include "util.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define TABLE_NAME "tasks.tab"
#define WORDS 16

/* linux/ioprio.h */
#define IOPRIO_WHO_PROCESS 1

struct mask {
	unsigned long word[WORDS];
};

struct settings {
	int name;
	unsigned personality;
	unsigned long slack_ns;
	int ioprio;
	struct mask mask;
};

static int read_number(pid_t pid, const char *name, const char *format, void *out)
{
	FILE *file = fopen_proc(pid, "%s", name);
	int got = file ? fscanf(file, format, out) : 0;

	if (file)
		fclose(file);
	if (got == 1)
		return 0;
	pr_err("Can't read %s of %d\n", name, pid);
	return -1;
}

static int read_mask(pid_t pid, struct mask *mask)
{
	*mask = (struct mask){};
	if (!sched_getaffinity(pid, sizeof(*mask), (cpu_set_t *)mask))
		return 0;
	pr_perror("Can't get the CPUs of %d", pid);
	return -1;
}

static void write_settings(FILE *file, const struct settings *s)
{
	int i;

	fprintf(file, "%d %x %lx %x", s->name, s->personality, s->slack_ns, s->ioprio);
	for (i = 0; i < WORDS; i++)
		fprintf(file, " %lx", s->mask.word[i]);
	fputc('\n', file);
}

static int dump_task(FILE *file, const struct pstree_item *item)
{
	pid_t pid = item->pid->real;
	struct settings s = { .name = vpid(item) }, thread;
	int i;

	s.ioprio = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid);
	if (s.ioprio < 0 || read_mask(pid, &s.mask) || read_number(pid, "personality", "%x", &s.personality) ||
	    read_number(pid, "timerslack_ns", "%lu", &s.slack_ns))
		return -1;
	write_settings(file, &s);
	thread = s;
	for (i = 0; i < item->nr_threads; i++) {
		if (item->threads[i].real == pid)
			continue;
		thread.name = -item->threads[i].ns[0].virt;
		if (read_mask(item->threads[i].real, &thread.mask))
			return -1;
		if (memcmp(&s.mask, &thread.mask, sizeof(s.mask)))
			write_settings(file, &thread);
	}
	return 0;
}

int task_settings_dump(void)
{
	struct pstree_item *item;
	FILE *file = image_table_open(TABLE_NAME, O_WRONLY | O_CREAT | O_TRUNC, "w");

	if (!file) {
		pr_perror("Can't make " TABLE_NAME);
		return -1;
	}
	for_each_pstree_item(item)
		if (task_alive(item) && dump_task(file, item)) {
			fclose(file);
			return -1;
		}
	if (ferror(file) | fclose(file)) {
		pr_perror("Can't write " TABLE_NAME);
		return -1;
	}
	return 0;
}

static bool next_settings(FILE *file, struct settings *s)
{
	int i;

	*s = (struct settings){};
	if (fscanf(file, "%d %x %lx %x", &s->name, &s->personality, &s->slack_ns, (unsigned *)&s->ioprio) != 4)
		return false;
	for (i = 0; i < WORDS; i++)
		if (fscanf(file, "%lx", &s->mask.word[i]) != 1)
			return false;
	return true;
}

/* CPUs that this machine or the sandbox's group does not have are no reason to fail. */
static void set_mask(pid_t pid, const struct settings *s)
{
	if (sched_setaffinity(pid, sizeof(s->mask), (const cpu_set_t *)&s->mask))
		pr_warn("Task %d may not run on its CPUs: %s\n", s->name, strerror(errno));
}

/* In the task itself. */
void task_settings_restore(pid_t pid)
{
	FILE *file = image_table_open(TABLE_NAME, O_RDONLY, "r");
	struct settings s;

	/* Images of a dump that wrote none. */
	if (!file)
		return;
	while (next_settings(file, &s)) {
		if (s.name != pid)
			continue;
		set_mask(0, &s);
		if (personality(s.personality) < 0 || prctl(PR_SET_TIMERSLACK, s.slack_ns, 0, 0, 0) ||
		    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, s.ioprio))
			pr_warn("Task %d does not get its settings back: %s\n", s.name, strerror(errno));
		break;
	}
	fclose(file);
}

static pid_t real_thread(int tid)
{
	struct pstree_item *item;
	int i;

	for_each_pstree_item(item)
		for (i = 0; i < item->nr_threads; i++)
			if (item->threads[i].ns[0].virt == tid)
				return item->threads[i].real;
	return -1;
}

/* When criu has stopped all threads for the last time, and so knows their ids outside. */
void task_settings_restore_threads(void)
{
	FILE *file = image_table_open(TABLE_NAME, O_RDONLY, "r");
	struct settings s;

	if (!file)
		return;
	while (next_settings(file, &s))
		if (s.name < 0 && real_thread(-s.name) > 0)
			set_mask(real_thread(-s.name), &s);
	fclose(file);
}
