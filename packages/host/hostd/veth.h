// SPDX-License-Identifier: Apache-2.0
// The cable of a sandbox with a network: a veth pair, eth0 inside and col<N> on the host.
#pragma once

#include <jansson.h>

#include "fail.h"

json_t *veth_attach(struct fail *f, const json_t *request);
json_t *veth_detach(struct fail *f, const json_t *request);
int veth_remove_all(struct fail *f); // of this host, whoever made them; also right when there is none
