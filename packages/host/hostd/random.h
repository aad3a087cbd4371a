// SPDX-License-Identifier: Apache-2.0
// "random.reseed": makes the kernel's generator take a new key, so that every user-space copy of it (the vDSO's
// getrandom) asks for a new one at its next draw. Second belt of a fork, beside criu leaving that state out.
#pragma once

#include <jansson.h>

#include "fail.h"

json_t *random_reseed(struct fail *f, const json_t *request);
