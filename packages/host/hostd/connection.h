// SPDX-License-Identifier: Apache-2.0
// Clients of the daemon's socket: each sends one JSON request a line.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "loop.h"

#define LINE_MAX_BYTES 65536 // of a request, or of a worker's answer; newline included
#define ANSWER_MAX_BYTES (1 << 20) // of `list` on a node that is full
#define CONNECTIONS_MAX 1024
#define OUTPUT_MAX_BYTES (4 << 20)

struct connection {
    struct source source;
    struct deadline first_line;
    bool closing; // close as soon as the output is written
    char *in;
    size_t in_bytes;
    char *out;
    size_t out_bytes;
    struct connection *next, *previous;
};

int connection_listen(const char *path);
void connection_unlisten(void);
int connection_count(void);

// In a forked worker: lets go of every client, so that none waits for the worker to see its own connection end.
void connection_drop_in_child(void);

// Queues one line; a client that lets OUTPUT_MAX_BYTES pile up unread is cut off.
void connection_send(struct connection *connection, const json_t *message);
void connection_send_line(struct connection *connection, const char *line, size_t bytes);

// What the other parts do for this one.
void control_line(struct connection *connection, const char *line, size_t bytes); // a request
void control_closed(struct connection *connection); // forget what belongs to it
