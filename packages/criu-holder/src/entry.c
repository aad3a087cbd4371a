/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an ordinary `criu restore` becomes a holder: environment CRIU_HOLDER
 * names the socket it shall listen on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "types.h"
#include "cr_options.h"
#include "crtools.h"
#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int __real_cr_restore_tasks(void);
int __wrap_cr_restore_tasks(void);

/* Before criu opens anything: what our parent had open must not stay open for as long as we live. */
static void __attribute__((constructor)) close_inherited(void)
{
	if (getenv("CRIU_HOLDER"))
		syscall(SYS_close_range, 3, ~0u, 0);
}

static int detach_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	if (null < 0)
		return -1;
	for (fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	return close(null);
}

static int start(const char *socket_path, double began)
{
	const char *table = getenv("CRIU_HOLDER_TABLE");
	char beside[PATH_MAX];
	int fd;

	if (load_snapshot())
		return -1;
	if (!table) {
		if (snprintf(beside, sizeof(beside), "%s/held.tab", opts.imgs_dir) >= (int)sizeof(beside)) {
			pr_err("The path of the images is too long\n");
			return -1;
		}
		table = beside;
	}
	if (held_table_write(table))
		return -1;
	/* A session of its own: no terminal and no parent's process group reaches it. Fails only for a leader of one. */
	setsid();
	if (signal(SIGHUP, SIG_IGN) == SIG_ERR || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
		pr_perror("Can't set up the holder process");
		return -1;
	}
	fd = listen_on(socket_path);
	if (fd < 0)
		return -1;
	reply_ready(stdout, now_ms() - began);
	if (detach_stdio()) {
		pr_perror("Can't let go of stdio");
		return -1;
	}
	return fd;
}

int __wrap_cr_restore_tasks(void)
{
	const char *path = getenv("CRIU_HOLDER"), *files = getenv("CRIU_HOLDER_FILES");
	int fd;

	if (!path)
		return __real_cr_restore_tasks();
	hold_file_mappings = !files || strcmp(files, "0");
	fd = start(path, now_ms());
	if (fd < 0) {
		print_log_tail(opts.output);
		return -1;
	}
	return serve(fd);
}
