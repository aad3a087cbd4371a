// SPDX-License-Identifier: Apache-2.0
// The inside of a sandbox's network namespace: loopback, the fixed inner addresses, the sysctls a fork needs.
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stddef.h>

#include "fail.h"

#define ADDRESSES_MAX 32

struct address {
    int family; // AF_INET or AF_INET6
    uint8_t bytes[16];
    uint8_t prefix;
    char text[64]; // as it was written, for messages
};

struct addresses {
    struct address list[ADDRESSES_MAX];
    size_t count;
};

// A list of the request: ["10.0.0.2/32", ...].
int net_read_addresses(struct fail *f, const json_t *request, const char *field, struct addresses *addresses);

// In the namespace the caller is in: loopback up with these addresses. Doing it again changes nothing.
int net_loopback_up(struct fail *f, const struct addresses *addresses);

// Lets sockets bind to addresses that are not there (yet): a listener on the parent's address must not fail a fork.
// Through the /proc at proc_fd.
int net_allow_nonlocal_bind(struct fail *f, int proc_fd);

// Moves the calling thread into the network namespace of a process, named so that a reused pid is refused.
int net_enter(struct fail *f, pid_t pid, uint64_t start_time);

json_t *net_setup(struct fail *f, const json_t *request);
