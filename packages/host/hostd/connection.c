// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_LINE_MS 10000
#define BACKLOG 4096

static struct source listener = {.fd = -1};
static char listening_at[sizeof((struct sockaddr_un *)0)->sun_path];
static struct connection *connections;
static int count;

int connection_count(void) { return count; }

static void unlink_and_free(struct connection *c)
{
    loop_remove(&c->source);
    loop_disarm(&c->first_line);
    if (c->previous)
        c->previous->next = c->next;
    else
        connections = c->next;
    if (c->next)
        c->next->previous = c->previous;
    count--;
    close(c->source.fd);
    free(c->in);
    free(c->out);
    free(c);
}

static void connection_close(struct connection *c)
{
    control_closed(c);
    unlink_and_free(c);
}

// Writes what the socket takes; false when the connection is finished.
static bool flush(struct connection *c)
{
    while (c->out_bytes > 0) {
        ssize_t sent = send(c->source.fd, c->out, c->out_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        c->out_bytes -= (size_t)sent;
        memmove(c->out, c->out + sent, c->out_bytes);
    }
    return !c->closing;
}

// Never closes c: callers are in the middle of using it. A broken client shows as an event of the next turn.
void connection_send_line(struct connection *c, const char *line, size_t bytes)
{
    char *grown;

    if (c->closing)
        return;
    if (c->out_bytes + bytes > OUTPUT_MAX_BYTES || !(grown = realloc(c->out, c->out_bytes + bytes))) {
        fprintf(stderr, "collimate-hostd: a client does not read its answers, cut off\n");
        c->closing = true;
        c->out_bytes = 0;
    } else {
        c->out = grown;
        memcpy(c->out + c->out_bytes, line, bytes);
        c->out_bytes += bytes;
    }
    loop_change(&c->source, EPOLLIN | EPOLLOUT);
}

void connection_send(struct connection *c, const json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    size_t bytes = text ? strlen(text) : 0;

    if (!text || bytes >= ANSWER_MAX_BYTES) {
        fprintf(stderr, "collimate-hostd: an answer of %zu bytes cannot be sent\n", bytes);
        c->closing = true;
        loop_change(&c->source, EPOLLIN | EPOLLOUT);
    } else {
        text[bytes] = '\n'; // in place of the NUL
        connection_send_line(c, text, bytes + 1);
    }
    free(text);
}

static void take_lines(struct connection *c)
{
    size_t start = 0;
    char *newline;

    while (!c->closing && (newline = memchr(c->in + start, '\n', c->in_bytes - start))) {
        size_t bytes = (size_t)(newline - (c->in + start));

        loop_disarm(&c->first_line);
        control_line(c, c->in + start, bytes);
        start += bytes + 1;
    }
    c->in_bytes -= start;
    memmove(c->in, c->in + start, c->in_bytes);
    if (c->in_bytes == LINE_MAX_BYTES) {
        fprintf(stderr, "collimate-hostd: a client sent a line of more than %d bytes, cut off\n", LINE_MAX_BYTES);
        connection_close(c);
    }
}

static void connection_ready(struct source *source, uint32_t events)
{
    struct connection *c = (struct connection *)source;

    if (events & EPOLLOUT) {
        if (!flush(c)) {
            connection_close(c);
            return;
        }
        if (c->out_bytes == 0)
            loop_change(source, EPOLLIN);
    }
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    if (c->closing) { // only its output is still of interest; a client that hung up has none
        if (events & (EPOLLHUP | EPOLLERR))
            connection_close(c);
        else
            loop_change(source, EPOLLOUT);
        return;
    }
    ssize_t got = recv(source->fd, c->in + c->in_bytes, LINE_MAX_BYTES - c->in_bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        connection_close(c);
        return;
    }
    c->in_bytes += (size_t)got;
    take_lines(c);
}

static void first_line_late(struct deadline *deadline)
{
    connection_close((struct connection *)((char *)deadline - offsetof(struct connection, first_line)));
}

// Only root may ask: the socket's mode says so as well, but a mode is easily lost.
static bool peer_is_root(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == 0;
}

static void accept_client(struct source *source, uint32_t events)
{
    (void)events;
    int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    struct connection *c = count < CONNECTIONS_MAX && peer_is_root(fd) ? calloc(1, sizeof *c) : NULL;
    if (!c || !(c->in = malloc(LINE_MAX_BYTES))) {
        free(c);
        close(fd);
        return;
    }
    c->source = (struct source){.fd = fd, .ready = connection_ready};
    c->first_line.expired = first_line_late;
    c->next = connections;
    if (connections)
        connections->previous = c;
    connections = c;
    count++;
    loop_arm(&c->first_line, FIRST_LINE_MS);
    if (loop_add(&c->source, EPOLLIN) < 0)
        connection_close(c);
}

void connection_drop_in_child(void)
{
    close(listener.fd);
    for (struct connection *c = connections; c; c = c->next)
        close(c->source.fd);
}

// A socket file that nobody listens on is what a killed daemon leaves behind.
static bool is_stale(const struct sockaddr_un *address)
{
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) < 0 &&
                   errno == ECONNREFUSED;

    if (probe >= 0)
        close(probe);
    return refused;
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
    mode_t before = umask(0177);
    int bound = bind(fd, (const struct sockaddr *)address, sizeof *address);

    umask(before);
    return bound;
}

int connection_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    listener.ready = accept_client;
    if (listener.fd < 0)
        return -1;
    int bound = bind_private(listener.fd, &address);
    if (bound < 0 && errno == EADDRINUSE) {
        if (is_stale(&address) && unlink(path) == 0)
            bound = bind_private(listener.fd, &address);
        else
            errno = EADDRINUSE;
    }
    if (bound < 0 || listen(listener.fd, BACKLOG) < 0)
        return -1;
    strcpy(listening_at, path);
    return loop_add(&listener, EPOLLIN);
}

void connection_unlisten(void)
{
    if (listening_at[0])
        unlink(listening_at);
}
