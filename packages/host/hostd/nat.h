// SPDX-License-Identifier: Apache-2.0
// The host's side of sandboxes with a network: one nftables table, made once, and one map element a sandbox.
//
// Every sandbox has the same inner address. Outside each is known by an address of its own out of 100.64.0.0/10
// (RFC 6598), which exists on this host alone: the table rewrites one into the other without state, before conntrack
// sees a packet and after it is done with one; what leaves by the uplink is masqueraded.
#pragma once

#include <jansson.h>
#include <netinet/in.h>

#include "fail.h"

#define NAT_INNER_ADDRESS "10.0.0.2"
#define NAT_GATEWAY "169.254.1.1" // on no device at all: each side knows the other's hardware address beforehand
#define NAT_LINK_PREFIX "col" // of the host's end of every sandbox's veth

json_t *nat_init(struct fail *f, const json_t *request);
json_t *nat_fini(struct fail *f, const json_t *request);
// Whatever an agent that was killed has left: all cables, and the table.
json_t *nat_sweep(struct fail *f, const json_t *request);

// Packets from this link are from this outer address; without an element all are dropped.
int nat_map(struct fail *f, const char *link, struct in_addr outer);
// A NULL-ended list of at most NAT_UNMAP_MAX; right also for links without an element. Waits for RCU, once for all.
int nat_unmap(struct fail *f, const char *const links[]);
#define NAT_UNMAP_MAX 32
