// SPDX-License-Identifier: Apache-2.0
// Telling a client when a process dies, and killing by a name that cannot hit a stranger.
#pragma once

#include <jansson.h>

#include "connection.h"
#include "fail.h"

#define WATCHES_MAX 8192

json_t *watch_start(struct fail *f, struct connection *client, const json_t *request);
json_t *watch_stop(struct fail *f, struct connection *client, const json_t *request);
json_t *watch_kill(struct fail *f, const json_t *request);

void watch_client_gone(const struct connection *client);
json_t *watch_list(void);
int watch_count(void);
