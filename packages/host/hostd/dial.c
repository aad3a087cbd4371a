// SPDX-License-Identifier: Apache-2.0
#include "dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "answer.h"
#include "net.h"
#include "process.h"
#include "request.h"

#define CONNECT_MS 5000
#define AGAIN_MS 2 // until a full queue is tried again: a unix listener's (connect(2): EAGAIN), or the channel's

struct destination {
    struct sockaddr_storage address;
    socklen_t bytes;
    char text[128];
};

struct dial {
    struct source source; // the socket; writable once a TCP connection stands or has failed
    struct deadline deadline;
    bool polled, standing; // standing: connected, and yet to be handed over
    int64_t until_ms;
    struct connection *client;
    json_int_t id, token;
    struct destination to;
    struct dial *next;
};

static struct dial *dials;
static int count;
static int home = -1;
// Where node:child_process listens, as its environment says.
static struct source channel = {.fd = -1};

int dial_count(void) { return count; }

static void channel_closed(void)
{
    loop_remove(&channel);
    close(channel.fd);
    channel.fd = -1;
}

// Node acknowledges each socket; there is nothing to learn from that.
static void channel_ready(struct source *source, uint32_t events)
{
    char discarded[4096];
    ssize_t got = recv(source->fd, discarded, sizeof discarded, MSG_DONTWAIT);

    (void)events;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        channel_closed();
}

int dial_init(void)
{
    const char *text = getenv("NODE_CHANNEL_FD");

    home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0 || !text)
        return home < 0 ? -1 : 0;
    channel.fd = atoi(text);
    channel.ready = channel_ready;
    if (fcntl(channel.fd, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    return loop_add(&channel, EPOLLIN);
}

// What node:child_process takes for a socket that its child sends.
static int hand_over(struct fail *f, const struct dial *d)
{
    char text[128];
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec data = {.iov_base = text,
                         .iov_len = (size_t)snprintf(text, sizeof text,
                                                     "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Socket\","
                                                     "\"msg\":{\"dial\":%lld}}\n",
                                                     (long long)d->token)};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &d->source.fd, sizeof(int));
    ssize_t sent = sendmsg(channel.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)data.iov_len)
        return 0;
    if (sent >= 0) { // half a message: what comes next would be taken for its rest
        channel_closed();
        errno = EPIPE;
    }
    if (errno == EAGAIN || errno == ETOOMANYREFS) // unix(7): too many descriptors are on their way
        return fail(f, FAIL_BUSY, "the agent does not take its sockets");
    return fail_errno(f, "hand over of a socket");
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
    static const char *const abstract[] = {"token", "pid", "start_time", "abstract", NULL};
    static const char *const tcp[] = {"token", "pid", "start_time", "tcp", "host", NULL};

    if (json_object_get(dial, "tcp"))
        return request_only(f, dial, tcp) < 0 ? -1 : read_tcp(f, dial, to);
    return request_only(f, dial, abstract) < 0 ? -1 : read_abstract(f, dial, to);
}

static void forget(struct dial *d)
{
    struct dial **at = &dials;

    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    count--;
    loop_disarm(&d->deadline);
    if (d->polled)
        loop_remove(&d->source);
    close(d->source.fd);
    free(d);
}

static void answer(struct dial *d, const struct fail *f)
{
    json_t *message = f ? answer_failed_id(d->id, f) : json_pack("{s:I, s:b}", "id", d->id, "ok", 1);

    connection_send(d->client, message);
    json_decref(message);
    forget(d);
}

static void finish(struct dial *d, int error)
{
    struct fail f = {0};

    if (error) {
        errno = error;
        fail_errno(&f, "connect to %s inside", d->to.text);
        answer(d, &f);
        return;
    }
    d->standing = true;
    if (hand_over(&f, d) == 0)
        answer(d, NULL);
    else if (strcmp(f.code, FAIL_BUSY) == 0 && loop_now_ms() < d->until_ms)
        loop_arm(&d->deadline, AGAIN_MS);
    else
        answer(d, &f);
}

static void try_to_connect(struct dial *d)
{
    int error = connect(d->source.fd, (const struct sockaddr *)&d->to.address, d->to.bytes) < 0 ? errno : 0;
    int64_t left = d->until_ms - loop_now_ms();

    if (error != EAGAIN && error != EINPROGRESS) {
        finish(d, error);
    } else if (left <= 0) {
        finish(d, ETIMEDOUT);
    } else if (error == EAGAIN) {
        loop_arm(&d->deadline, left < AGAIN_MS ? left : AGAIN_MS);
    } else if (loop_add(&d->source, EPOLLOUT) < 0) {
        finish(d, errno);
    } else {
        d->polled = true;
        loop_arm(&d->deadline, left);
    }
}

static void connected(struct source *source, uint32_t events)
{
    struct dial *d = (struct dial *)source;
    int error = 0;
    socklen_t size = sizeof error;

    (void)events;
    getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    loop_remove(source);
    d->polled = false;
    finish(d, error);
}

static void time_is_up(struct deadline *deadline)
{
    struct dial *d = (struct dial *)((char *)deadline - offsetof(struct dial, deadline));

    if (d->standing)
        finish(d, 0);
    else if (d->polled)
        finish(d, ETIMEDOUT);
    else
        try_to_connect(d);
}

// A socket belongs to the namespace in which it was made, wherever its owner goes afterwards (network_namespaces(7)).
static int socket_inside(struct fail *f, const struct process_name *process, int family)
{
    int fd;

    if (net_enter(f, process->pid, process->start_time) < 0)
        return -1;
    fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        fail_errno(f, "socket for a dial");
    if (setns(home, CLONE_NEWNET) < 0) {
        perror("collimate-hostd: the way back out of a network namespace is lost");
        abort();
    }
    return fd;
}

int dial_start(struct fail *f, struct connection *client, const json_t *request)
{
    struct destination to = {0};
    struct process_name process;
    int64_t token = -1;
    int fd;

    if (request_integer(f, request, "token", 0, INT32_MAX, &token) < 0 ||
        request_process(f, request, true, &process) < 0 || read_destination(f, request, &to) < 0)
        return -1;
    if (token < 0)
        return fail(f, FAIL_REQUEST, "field \"token\" is missing");
    if (channel.fd < 0)
        return fail(f, FAIL_REQUEST, "there is no channel to hand a socket over");
    if (count >= DIALS_MAX)
        return fail(f, FAIL_BUSY, "%d dials are under way", count);
    if ((fd = socket_inside(f, &process, to.address.ss_family)) < 0)
        return -1;
    struct dial *d = calloc(1, sizeof *d);
    if (!d) {
        close(fd);
        return fail_errno(f, "no memory for a dial");
    }
    d->source = (struct source){.fd = fd, .ready = connected};
    d->deadline.expired = time_is_up;
    d->until_ms = loop_now_ms() + CONNECT_MS;
    d->client = client;
    d->id = json_integer_value(json_object_get(request, "id"));
    d->token = token;
    d->to = to;
    d->next = dials;
    dials = d;
    count++;
    try_to_connect(d);
    return 0;
}

void dial_client_gone(const struct connection *client)
{
    for (struct dial *d = dials, *next; d; d = next) {
        next = d->next;
        if (d->client == client)
            forget(d);
    }
}
