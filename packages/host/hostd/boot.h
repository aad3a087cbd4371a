// SPDX-License-Identifier: Apache-2.0
// The first start of a sandbox: its PID 1 in namespaces of its own, on a root that is an overlay, with nothing of the
// host's left to it. Only bakes boot; every later sandbox is a restore.
#pragma once

#include <jansson.h>

#include "fail.h"

json_t *boot(struct fail *f, const json_t *request); // runs in a worker
