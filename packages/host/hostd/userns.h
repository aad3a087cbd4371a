// SPDX-License-Identifier: Apache-2.0
// One user namespace per slot, kept open: overlay layers are idmapped through it and boots repeat its map.
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "fail.h"

#define SLOTS_MAX 65520 // base = 0x10000 * (16 + slot) must fit 32 bits

struct userns {
    int fd;
    uint32_t base, count; // ids 0..count-1 inside are base..base+count-1 outside
};

json_t *userns_create(struct fail *f, const json_t *request);
json_t *userns_drop(struct fail *f, const json_t *request);

// The slot named by the request's field "slot", or NULL with the failure told.
const struct userns *userns_of(struct fail *f, const json_t *request);

// Writes the uid and gid map of a process that has just been cloned into a new user namespace.
int userns_write_maps(struct fail *f, pid_t pid, uint32_t base, uint32_t count);

json_t *userns_list(void);
int userns_count(void);
