/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table beside the images tells a later dump which pages of which task are
 * held, by whom and at what address:
 *
 *   collimate-held 1 HOLDER_PID HOLDER_START_TIME
 *   PID START END ADDRESS        (hexadecimal but PID; sorted)
 *   end
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define FORMAT_VERSION 1

/* Field 22 of /proc/PID/stat: with the pid it names one process for ever (per boot). */
static int start_time(pid_t pid, unsigned long long *out)
{
	char path[64], text[1024], *p;
	int fd, field;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	/* The name may hold anything, so count from its closing bracket, which ends field 2. */
	p = strrchr(text, ')');
	for (field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -1;
	*out = strtoull(p + 1, NULL, 10);
	return 0;
}

int held_table_write(const char *path)
{
	unsigned long long born;
	char temporary[PATH_MAX];
	bool bad;
	size_t i;
	FILE *f;

	if (start_time(getpid(), &born)) {
		pr_perror("Can't read my own start time");
		return -1;
	}
	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary)) {
		pr_err("The path of the table is too long\n");
		return -1;
	}
	f = fopen(temporary, "we");
	if (!f) {
		pr_perror("Can't create %s", temporary);
		return -1;
	}
	fprintf(f, "collimate-held %d %d %llu\n", FORMAT_VERSION, getpid(), born);
	for (i = 0; i < held.runs.nr; i++) {
		const struct region *r = &held.runs.v[i];

		fprintf(f, "%d %lx %lx %lx\n", r->pid, r->start, r->end, (unsigned long)r->addr);
	}
	fprintf(f, "end\n");
	bad = ferror(f);
	if (fclose(f) || bad || rename(temporary, path)) {
		pr_perror("Can't write %s", path);
		unlink(temporary);
		return -1;
	}
	return 0;
}

static int read_lines(FILE *f, struct region_table *runs)
{
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		unsigned long start, end, addr;
		struct region *r;
		int pid;

		if (!strcmp(line, "end\n")) {
			regions_sort(runs);
			return 0;
		}
		if (sscanf(line, "%d %lx %lx %lx\n", &pid, &start, &end, &addr) != 4)
			break;
		r = regions_add(runs, pid, start, end);
		if (!r)
			return -1;
		r->addr = (char *)addr;
	}
	pr_err("The table of held memory is cut off or damaged\n");
	return -1;
}

int held_table_read(const char *path, struct held_table *out)
{
	unsigned long long born, now;
	int version, pid, ret = -1;
	char line[256], proc[64];
	FILE *f = fopen(path, "re");

	*out = (struct held_table){ .pagemap_fd = -1 };
	if (!f) {
		pr_perror("Can't open the table of held memory %s", path);
		return -1;
	}
	if (!fgets(line, sizeof(line), f) || sscanf(line, "collimate-held %d %d %llu\n", &version, &pid, &born) != 3 ||
	    version != FORMAT_VERSION) {
		pr_err("%s is not a table of held memory of version %d\n", path, FORMAT_VERSION);
		goto out;
	}
	if (read_lines(f, &out->runs))
		goto out;
	snprintf(proc, sizeof(proc), "/proc/%d/pagemap", pid);
	out->pagemap_fd = open(proc, O_RDONLY | O_CLOEXEC);
	/* Compared after the open: the descriptor then belongs to the process that was checked. */
	if (out->pagemap_fd < 0 || start_time(pid, &now) || now != born) {
		pr_err("The holder of %s (pid %d) is gone\n", path, pid);
		goto out;
	}
	ret = 0;
out:
	fclose(f);
	if (ret) {
		regions_free(&out->runs);
		if (out->pagemap_fd >= 0)
			close(out->pagemap_fd);
		out->pagemap_fd = -1;
	}
	return ret;
}
