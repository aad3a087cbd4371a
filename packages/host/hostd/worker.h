// SPDX-License-Identifier: Apache-2.0
// Operations that may take more than a moment run in a forked child, so that the loop never waits.
// A worker has a deadline; when it passes, or the client that asked has gone, the worker is killed.
#pragma once

#include <jansson.h>

#include "connection.h"
#include "fail.h"

#define WORKERS_MAX 256

typedef json_t *operation(struct fail *f, const json_t *request);

int worker_start(struct fail *f, struct connection *client, const json_t *request, operation *run, int deadline_ms);
void worker_client_gone(const struct connection *client);
void worker_end_all(void);
int worker_count(void);

// Inside a worker: hands the daemon the pidfd of a process that must not outlive a failed or unanswered operation.
// The process may begin only after this has returned 0: from then on the daemon will end it if need be.
int worker_answers_for(struct fail *f, int pidfd);
