// SPDX-License-Identifier: Apache-2.0
// Connections into a sandbox's network namespace. The socket is made inside, connected, and handed to the agent over
// the channel of node:child_process ("net.Socket"): nobody stands between the two ends.
#pragma once

#include <jansson.h>

#include "connection.h"
#include "fail.h"

#define DIALS_MAX 2000 // under way; a connection that stands is the agent's

// Keeps the way home from other network namespaces. Without a channel there is nobody to hand sockets to.
int dial_init(void);

// {"token":N,"pid":P,"start_time":T,"abstract":"name"} or {...,"tcp":PORT,"host":"127.0.0.1"}: the channel gets the socket
// with {"dial":N}, then the client its answer.
int dial_start(struct fail *f, struct connection *client, const json_t *request);

void dial_client_gone(const struct connection *client);
int dial_count(void);
