/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu refuses a tree in which someone has /dev/tty open, unless the session's
 * leader is in the foreground and the same task was the first to be seen with
 * the terminal (tty_verify_ctty): any editor or pager under a terminal program
 * fails that. It guards against terminals from outside, which a sandbox cannot
 * have; so what the check compares is made equal. The foreground group that a
 * restore sets is the one noted for the master, which stays as it is.
 */
#include <sys/sysmacros.h>

#include "types.h"
#include "files.h"
#include "log.h"
#include "parasite.h"
#include "parasite-syscall.h"
#include "tty.h"
#include "holder.h"
#include "images/fdinfo.pb-c.h"

/* Documentation/admin-guide/devices.txt of Linux. */
#define MASTER_MAJOR	   5
#define MASTER_MINOR	   2
#define SLAVES_FIRST_MAJOR 136
#define SLAVES_LAST_MAJOR  143

extern const struct fdtype_ops __real_tty_dump_ops;
struct parasite_tty_args *__real_parasite_dump_tty(struct parasite_ctl *ctl, int fd, int type);
struct parasite_tty_args *__wrap_parasite_dump_tty(struct parasite_ctl *ctl, int fd, int type);

static bool dumping_slave;

static int dump_terminal(int lfd, u32 id, const struct fd_parms *p)
{
	static pid_t first;
	struct fd_parms same = *p;
	unsigned dev = major(p->stat.st_rdev);
	int ret;

	if (!first)
		first = p->pid;
	same.pid = first;
	dumping_slave = dev >= SLAVES_FIRST_MAJOR && dev <= SLAVES_LAST_MAJOR;
	if (dumping_slave && terminal_note_slave(minor(p->stat.st_rdev)))
		return -1;
	if (dev == MASTER_MAJOR && minor(p->stat.st_rdev) == MASTER_MINOR && terminal_note_master(lfd, p->pid, p->fd))
		return -1;
	ret = __real_tty_dump_ops.dump(lfd, id, &same);
	dumping_slave = false;
	return ret;
}

const struct fdtype_ops __wrap_tty_dump_ops = {
	.type = FD_TYPES__TTY,
	.dump = dump_terminal,
};

struct parasite_tty_args *__wrap_parasite_dump_tty(struct parasite_ctl *ctl, int fd, int type)
{
	struct parasite_tty_args *args = __real_parasite_dump_tty(ctl, fd, type);

	if (args && dumping_slave)
		args->pgrp = args->sid;
	return args;
}
