/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * At the end of a dump criu removes the names that it has given to open files
 * which had lost theirs (--link-remap). Before that, whoever copies the file
 * system beside the dump gets a turn: environment HOLDER_DUMPED_FD names a
 * socket, to which one byte is written and from which one is awaited.
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

int dump_stage_over(void)
{
	const char *text = getenv("HOLDER_DUMPED_FD");
	double until = now_ms() + TURN_MS;
	struct pollfd p = { .events = POLLIN };
	char byte = '.';

	if (!text)
		return 0;
	p.fd = atoi(text);
	if (send(p.fd, &byte, 1, MSG_NOSIGNAL) != 1) {
		pr_perror("Nobody waits for the end of the dump");
		return -1;
	}
	for (;;) {
		double left = until - now_ms();
		int n = left > 0 ? poll(&p, 1, left + 1) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || recv(p.fd, &byte, 1, 0) != 1) {
			pr_err("The files could not be copied beside the dump\n");
			return -1;
		}
		return 0;
	}
}
