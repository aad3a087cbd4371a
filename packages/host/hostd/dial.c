// SPDX-License-Identifier: Apache-2.0
#include "dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"
#include "net.h"
#include "process.h"
#include "relay.h"
#include "request.h"

#define CONNECT_SECONDS 5

struct destination {
    struct sockaddr_storage address;
    socklen_t bytes;
    char text[128];
};

static pid_t relays[DIALS_MAX];
static int count;

int dial_count(void) { return count; }

void dial_reaped(int pid)
{
    for (int i = 0; i < count; i++)
        if (relays[i] == pid) {
            relays[i] = relays[--count];
            return;
        }
}

bool dial_is(const char *line, size_t bytes)
{
    json_t *first = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
    bool is = json_object_get(first, "dial") != NULL;

    json_decref(first);
    return is;
}

static int read_abstract(struct fail *f, const json_t *dial, struct destination *to)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&to->address;
    const char *name = NULL;

    if (request_string(f, dial, "abstract", sizeof address->sun_path - 1, &name) < 0)
        return -1;
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name, strlen(name)); // after a NUL: the abstract name space (unix(7))
    to->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    snprintf(to->text, sizeof to->text, "@%s", name);
    return 0;
}

static int read_tcp(struct fail *f, const json_t *dial, struct destination *to)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&to->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&to->address;
    const char *host = "127.0.0.1";
    int64_t port = -1;

    if (request_integer(f, dial, "tcp", 1, 65535, &port) < 0 ||
        request_string(f, dial, "host", INET6_ADDRSTRLEN, &host) < 0)
        return -1;
    snprintf(to->text, sizeof to->text, "%s port %d", host, (int)port);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        to->bytes = sizeof *v4;
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        to->bytes = sizeof *v6;
    } else {
        return fail(f, FAIL_REQUEST, "field \"host\" must be a numeric address");
    }
    return 0;
}

static int read_destination(struct fail *f, const json_t *dial, struct destination *to)
{
    static const char *const abstract[] = {"pid", "start_time", "abstract", NULL};
    static const char *const tcp[] = {"pid", "start_time", "tcp", "host", NULL};

    if (json_object_get(dial, "tcp"))
        return request_only(f, dial, tcp) < 0 ? -1 : read_tcp(f, dial, to);
    return request_only(f, dial, abstract) < 0 ? -1 : read_abstract(f, dial, to);
}

static int connect_inside(struct fail *f, const struct destination *to)
{
    struct timeval limit = {.tv_sec = CONNECT_SECONDS}, none = {0};
    int fd = socket(to->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return fail_errno(f, "socket for a dial");
    // SO_SNDTIMEO bounds connect(2), too, also where a unix listener's backlog is full (socket(7)).
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&to->address, to->bytes) < 0) {
        if (errno == EAGAIN || errno == EINPROGRESS)
            errno = ETIMEDOUT;
        fail_errno(f, "connect to %s inside", to->text);
        close(fd);
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    return fd;
}

static int dial(struct fail *f, const json_t *request)
{
    struct destination to = {0};
    struct process_name process;

    if (!json_is_object(request))
        return fail(f, FAIL_REQUEST, "field \"dial\" must be an object");
    if (request_process(f, request, true, &process) < 0 || read_destination(f, request, &to) < 0 ||
        net_enter(f, process.pid, process.start_time) < 0)
        return -1;
    return connect_inside(f, &to);
}

static void answer(int client, const struct fail *f)
{
    json_t *message = f ? json_pack("{s:b, s:s, s:s, s:s}", "ok", 0, "code", f->code, "errno", f->errno_name, "error",
                                    f->text)
                        : json_pack("{s:b}", "ok", 1);
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

    if (text) {
        size_t bytes = strlen(text);
        text[bytes] = '\n'; // in place of the NUL
        // A fresh socket's buffer takes this line whole; a client that has gone is noticed by the relay.
        (void)!send(client, text, bytes + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(text);
    json_decref(message);
}

static _Noreturn void run(int client, const char *line, size_t bytes, const char *early, size_t early_bytes)
{
    json_t *first = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
    struct fail f = {0};
    int inside = dial(&f, json_object_get(first, "dial"));

    if (inside < 0) {
        answer(client, &f);
        _exit(1);
    }
    answer(client, NULL);
    relay(client, inside, early, early_bytes);
    _exit(0);
}

void dial_start(int client, const char *line, size_t bytes, const char *early, size_t early_bytes)
{
    struct fail f = {0};
    pid_t parent = getpid();

    if (count >= DIALS_MAX) {
        fail(&f, FAIL_BUSY, "%d dials are open", count);
        answer(client, &f);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        process_begin_child(parent);
        // Nothing of the daemon's stays open in a relay, which may live long.
        if (dup2(client, 3) < 0 || close_range(4, ~0U, 0) < 0)
            _exit(1);
        run(3, line, bytes, early, early_bytes);
    }
    if (pid < 0) {
        fail_errno(&f, "fork of a relay");
        answer(client, &f);
        return;
    }
    relays[count++] = pid;
}
