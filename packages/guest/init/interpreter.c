// SPDX-License-Identifier: Apache-2.0
#include "interpreter.h"
#include "bytes.h"
#include "control.h"
#include "handlers.h"
#include "spawn.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noreturn)) static void become_interpreter(const struct kernel_source *source, int control, int text)
{
	static const struct request nothing;
	setsid();
	int a = fcntl(control, F_DUPFD, 16), b = fcntl(text, F_DUPFD, 16);
	if (a < 0 || b < 0 || dup2(a, 3) < 0 || dup2(b, 4) < 0)
		_exit(126);
	syscall(SYS_close_range, 5, ~0U, 0);
	spawn_reset_process();
	char **env = environment_build(&nothing, environ, NULL);
	for (const char *const *program = source->programs; env && *program; program++) {
		char *argv[] = {(char *)*program, (char *)source->option, (char *)source->loader, NULL};
		spawn_execute(argv, env);
	}
	_exit(127);
}

// The program text goes by a memory file: nothing of ours lies in the image or on a command line.
static int source_file(const struct kernel_source *source)
{
	int fd = (int)syscall(SYS_memfd_create, "collimate-kernel", MFD_CLOEXEC);
	if (fd >= 0 && (write(fd, source->text, source->length) != (ssize_t)source->length || lseek(fd, 0, SEEK_SET) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

pid_t interpreter_start(const struct kernel_source *source, int *control)
{
	int pair[2], text = source_file(source);
	if (text < 0)
		return -1;
	if (!control_pair(pair)) {
		close(text);
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0)
		become_interpreter(source, pair[1], text);
	close(pair[1]);
	close(text);
	if (pid < 0)
		close(pair[0]);
	*control = pair[0];
	return pid;
}

// To the interpreter: kind u32, generation u32, entropy[32], with its end of the cell's socket.
bool interpreter_give_turn(int control, int cell)
{
	uint8_t bytes[40];
	store_u32(bytes, 1);
	store_u32(bytes + 4, identity.generation);
	memcpy(bytes + 8, identity.entropy, 32);
	struct iovec part = {bytes, sizeof bytes};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof cell)];
	} ancillary = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof cell);
	memcpy(CMSG_DATA(head), &cell, sizeof cell);
	return sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}
