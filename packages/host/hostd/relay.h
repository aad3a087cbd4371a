// SPDX-License-Identifier: Apache-2.0
// Bytes between a client's unix socket and a stream socket inside a sandbox, both ways, one bounded buffer a direction.
#pragma once

#include <stddef.h>

// Blocks until both directions have ended, or the client has hung up before the inside has ended its own. A half-close on
// one side becomes one on the other.
// `early` goes inside first. Closes `inside` BEFORE `client`: whoever sees the end of the client's socket knows that
// nothing is connected inside any more (a checkpoint may be taken).
void relay(int client, int inside, const char *early, size_t early_bytes);
