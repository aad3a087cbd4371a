// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernel_sources.h"
#include <stdbool.h>
#include <sys/types.h>

// Starts the process; control is our end of its socket (its descriptor 3). -1: it could not be made. That no such
// program is in the image shows as its exit code, 127.
pid_t interpreter_start(const struct kernel_source *, int *control);

// Hands it one end of a cell's socket, with the identity of this sandbox.
bool interpreter_give_turn(int control, int cell);
