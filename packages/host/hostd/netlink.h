// SPDX-License-Identifier: Apache-2.0
// Just enough of rtnetlink(7): building one message and asking the kernel to carry it out.
#pragma once

#include <linux/rtnetlink.h>
#include <stddef.h>

#include "fail.h"

struct netlink_message {
    struct nlmsghdr header;
    char body[2048];
};

// A socket of the network namespace the caller is in, with a limit on how long an answer may take.
int netlink_open(struct fail *f);

void netlink_begin(struct netlink_message *message, int type, int flags, const void *header, size_t bytes);
struct rtattr *netlink_put(struct netlink_message *message, int type, const void *data, size_t bytes);
void netlink_close_nest(struct netlink_message *message, struct rtattr *nest);

// Sends, waits for the acknowledgement. `what` names the change in the failure.
int netlink_ask(struct fail *f, int fd, struct netlink_message *message, const char *what);
