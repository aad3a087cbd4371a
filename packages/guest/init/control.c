// SPDX-License-Identifier: Apache-2.0
#include "control.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union fd_space {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

bool control_pair(int pair[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
}

bool control_send(int fd, const struct control *c, int passed_fd)
{
	struct iovec part = {(void *)c, sizeof *c};
	union fd_space space = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (passed_fd >= 0) {
		message.msg_control = space.bytes;
		message.msg_controllen = sizeof space.bytes;
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof passed_fd);
		memcpy(CMSG_DATA(head), &passed_fd, sizeof passed_fd);
	}
	ssize_t n;
	do
		n = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *c;
}

int control_receive(int fd, struct control *c, int *passed_fd)
{
	struct iovec part = {c, sizeof *c};
	union fd_space space = {0};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = space.bytes, .msg_controllen = sizeof space.bytes};
	ssize_t n;
	do
		n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*passed_fd = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
		memcpy(passed_fd, CMSG_DATA(head), sizeof *passed_fd);
	if (n != (ssize_t)sizeof *c)
		return -1;
	c->id[ID_MAX] = c->sandbox[ID_MAX] = 0;
	c->language[sizeof c->language - 1] = 0;
	return 1;
}
