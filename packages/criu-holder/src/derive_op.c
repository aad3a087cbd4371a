/* SPDX-License-Identifier: GPL-2.0-only */
/* A fork of the holder turns into the holder of a child snapshot. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "types.h"
#include "cr_options.h"
#include "image.h"
#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int derive_op(int conn, const struct request *rq, double accepted)
{
	double forked = now_ms();
	char table[PATH_MAX];
	int fd = -1;

	if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
		reply_error(conn, "can't leave the parent holder", NULL);
		return -1;
	}
	if (log_init(rq->log)) {
		reply_error(conn, "can't open the log", NULL);
		return -1;
	}
	opts.output = strdup(rq->log);
	opts.imgs_dir = strdup(rq->images);
	if (!opts.output || !opts.imgs_dir || open_image_dir(rq->images, O_RSTR) < 0) {
		reply_error(conn, "can't open the images", rq->log);
		return -1;
	}
	if (derive_snapshot()) {
		reply_error(conn, "can't derive from these images", rq->log);
		return -1;
	}
	if (rq->table)
		snprintf(table, sizeof(table), "%s", rq->table);
	else if (snprintf(table, sizeof(table), "%s/held.tab", rq->images) >= (int)sizeof(table)) {
		reply_error(conn, "the path of the table is too long", NULL);
		return -1;
	}
	if (held_table_write(table)) {
		reply_error(conn, "can't write the table of held memory", rq->log);
		return -1;
	}
	fd = listen_on(rq->socket);
	if (fd < 0) {
		reply_error(conn, "can't listen on the socket", rq->log);
		return -1;
	}
	reply_derived(conn, now_ms() - accepted, forked - accepted);
	if (!client_keeps(conn, accepted + rq->deadline_ms)) {
		unlink(rq->socket);
		close(fd);
		return -1;
	}
	reply_kept(conn);
	return fd;
}
