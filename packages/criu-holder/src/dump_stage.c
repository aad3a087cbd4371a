/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Environment HOLDER_DUMP_FD names a socket on which a dump asks whoever started
 * it, twice: 'b' before it looks at the tree, so that the tree need not stand
 * still while criu gets ready; 'e' when all is dumped and the names that it has
 * given to open files which had lost theirs (--link-remap) still stand, for
 * whoever copies the file system beside the dump. Each is answered by one byte.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "types.h"
#include "log.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define TURN_MS 120000

int __real_collect_pstree(void);
int __wrap_collect_pstree(void);

static int ask(char stage)
{
	const char *text = getenv("HOLDER_DUMP_FD");
	double until = now_ms() + TURN_MS;
	struct pollfd p = { .events = POLLIN };
	char answer;

	if (!text)
		return 0;
	p.fd = atoi(text);
	if (send(p.fd, &stage, 1, MSG_NOSIGNAL) != 1) {
		pr_perror("Nobody waits for stage '%c' of the dump", stage);
		return -1;
	}
	for (;;) {
		double left = until - now_ms();
		int n = left > 0 ? poll(&p, 1, left + 1) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || recv(p.fd, &answer, 1, 0) != 1) {
			pr_err("The dump was called off at stage '%c'\n", stage);
			return -1;
		}
		return 0;
	}
}

/* Here criu begins to look at the tree, and to stop it. */
int __wrap_collect_pstree(void)
{
	return ask('b') ? -1 : __real_collect_pstree();
}

int dump_stage_over(void)
{
	return ask('e');
}
