// SPDX-License-Identifier: Apache-2.0
#include "netlink.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int netlink_open(struct fail *f)
{
    struct timeval limit = {.tv_sec = 5};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0)
        return fail_errno(f, "netlink socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static void *reserve(struct netlink_message *m, size_t bytes)
{
    char *at = (char *)m + NLMSG_ALIGN(m->header.nlmsg_len);

    // Messages are built from fields whose sizes are bounded where they are parsed: this is a bug, not an input.
    if (at + NLMSG_ALIGN(bytes) > (char *)m + sizeof *m)
        abort();
    memset(at, 0, NLMSG_ALIGN(bytes));
    m->header.nlmsg_len = (uint32_t)(at - (char *)m + (ptrdiff_t)bytes);
    return at;
}

void netlink_begin(struct netlink_message *m, int type, int flags, const void *header, size_t bytes)
{
    memset(&m->header, 0, sizeof m->header);
    m->header.nlmsg_len = NLMSG_HDRLEN;
    m->header.nlmsg_type = (uint16_t)type;
    m->header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    memcpy(reserve(m, bytes), header, bytes);
}

struct rtattr *netlink_put(struct netlink_message *m, int type, const void *data, size_t bytes)
{
    struct rtattr *attribute = reserve(m, RTA_LENGTH(bytes));

    attribute->rta_type = (unsigned short)type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
    if (bytes)
        memcpy(RTA_DATA(attribute), data, bytes);
    m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len);
    return attribute;
}

void netlink_close_nest(struct netlink_message *m, struct rtattr *nest)
{
    nest->rta_len = (unsigned short)((char *)m + m->header.nlmsg_len - (char *)nest);
}

int netlink_ask(struct fail *f, int fd, struct netlink_message *m, const char *what)
{
    _Alignas(struct nlmsghdr) char answer[8192];

    if (send(fd, m, m->header.nlmsg_len, 0) < 0)
        return fail_errno(f, "netlink: %s", what);
    ssize_t size = recv(fd, answer, sizeof answer, 0);
    if (size < 0)
        return fail_errno(f, "netlink: answer to: %s", what);
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
    if (!NLMSG_OK(header, (size_t)size) || header->nlmsg_type != NLMSG_ERROR)
        return fail(f, FAIL_SYSTEM, "netlink: %s: the answer is not an acknowledgement", what);
    errno = -((const struct nlmsgerr *)NLMSG_DATA(header))->error;
    return errno ? fail_errno(f, "netlink: %s", what) : 0;
}
