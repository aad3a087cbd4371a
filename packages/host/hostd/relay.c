// SPDX-License-Identifier: Apache-2.0
#include "relay.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define TURNS 32
#define LAST_WORDS_MS 30000 // without getting on, once the client has gone

struct direction {
    int from, to;
    bool read_ended; // nothing more comes; done: and all of it has been passed on (or cannot be)
    bool done;
    size_t start, end; // what lies in the buffer
    char buffer[BUFFER_BYTES];
};

static bool pending(const struct direction *d) { return d->start < d->end; }

static bool transient(void) { return errno == EAGAIN || errno == EINTR; }

// Each returns whether it got on.
static bool take(struct direction *d)
{
    if (pending(d) || d->read_ended)
        return false;
    ssize_t got = recv(d->from, d->buffer, sizeof d->buffer, MSG_DONTWAIT);
    if (got < 0 && transient())
        return false;
    d->read_ended = got <= 0; // a reset is an end, too: what came before it has been read
    d->start = 0;
    d->end = got > 0 ? (size_t)got : 0;
    return true;
}

static bool give(struct direction *d)
{
    if (!pending(d))
        return false;
    ssize_t sent = send(d->to, d->buffer + d->start, d->end - d->start, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && transient())
        return false;
    if (sent < 0) { // that side takes no more; the other direction may still have things to say
        d->start = d->end = 0;
        d->read_ended = true;
        shutdown(d->from, SHUT_RD);
        return true;
    }
    d->start += (size_t)sent;
    return true;
}

// A bounded stretch, so that a stream without end one way does not keep the other waiting.
static void move(struct direction *d)
{
    for (int turn = 0; turn < TURNS && (take(d) | give(d)); turn++)
        ;
    if (d->read_ended && !pending(d) && !d->done) {
        shutdown(d->to, SHUT_WR);
        d->done = true;
    }
}

// What to poll an end for, given the direction that reads from it and the one that writes to it.
static short wanted(const struct direction *reads, const struct direction *writes)
{
    return (short)((!pending(reads) && !reads->read_ended ? POLLIN : 0) | (pending(writes) ? POLLOUT : 0));
}

void relay(int client, int inside, const char *early, size_t early_bytes)
{
    static struct direction in, out; // a process relays once
    const short over = POLLHUP | POLLERR; // of a stream socket: closed by its peer, both ways
    bool client_gone = false;

    in.from = out.to = client;
    in.to = out.from = inside;
    in.end = early_bytes; // less than a buffer: see the caller
    memcpy(in.buffer, early, early_bytes);
    while (!in.done || !out.done) {
        struct pollfd ends[2] = {{.fd = client, .events = wanted(&in, &out)},
                                 {.fd = inside, .events = wanted(&out, &in)}};

        // HUP is reported wanted or not: where only the other end can bring us on, it would make this a busy loop.
        if (client_gone && ends[0].events == 0)
            ends[0].fd = -1;
        if (ends[1].events == 0 && pending(&out))
            ends[1].fd = -1;
        int ready = poll(ends, 2, client_gone ? LAST_WORDS_MS : -1);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            break;
        move(&in);
        move(&out);
        if (ends[0].revents & over) {
            // Who hangs up on a stream that still speaks has given it up. After its end, what the client has sent is
            // still delivered, as long as someone inside reads it.
            if (!out.done)
                break;
            client_gone = true;
        }
        if ((ends[1].revents & over) && out.done)
            break;
    }
    close(inside);
    close(client);
}
