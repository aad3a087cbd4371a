// SPDX-License-Identifier: Apache-2.0
// Connections into a sandbox: {"dial":{"pid":N,"start_time":T,"abstract":"name"}} or {...,"tcp":PORT,"host":"127.0.0.1"}
// as the first line of a connection; then one answer line; then the bytes of the stream, both ways, until both end.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DIALS_MAX 2000

bool dial_is(const char *line, size_t bytes);

// Forks a relay that owns the client's socket from here on; the caller closes its copy. `early` is what the
// client sent behind its first line.
void dial_start(int client, const char *line, size_t bytes, const char *early, size_t early_bytes);

void dial_reaped(int pid); // called for every child that has ended
int dial_count(void);
