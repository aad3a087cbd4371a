// SPDX-License-Identifier: Apache-2.0
// A sandbox's root: an overlay whose layers hold in-namespace ids (0-based) and are seen through idmapped mounts,
// so that nothing on disk is ever chowned and one layer serves any slot.
#pragma once

#include <jansson.h>

#include "fail.h"

json_t *overlay_mount(struct fail *f, const json_t *request);
json_t *overlay_umount(struct fail *f, const json_t *request);

// Behave as on a kernel before 6.15 and 6.5 (see overlay.c); for tests.
void overlay_act_as_old_kernel(void);
