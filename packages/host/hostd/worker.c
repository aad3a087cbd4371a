// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "process.h"

// What a worker sends: perhaps a CHARGE with the pidfd of a process it answers for (and waits until that is taken),
// then OK or FAILED and its answer's line.
#define CHARGE_MARK '@'
#define OK_MARK '+'
#define FAILED_MARK '-'

struct worker {
    struct source source; // our end of the socket pair between us
    struct deadline deadline;
    struct connection *client; // NULL when gone
    json_int_t id;
    const char *late; // why it was killed, or NULL
    int pidfd;
    int charge; // pidfd of the process it answers for, or -1
    size_t bytes;
    char line[LINE_MAX_BYTES];
    struct worker *next;
};

static struct worker *workers;
static int count;
static int daemon_fd = -1; // in a worker: its end

int worker_count(void) { return count; }

int worker_answers_for(struct fail *f, int pidfd)
{
    char mark = CHARGE_MARK, taken;
    union {
        char bytes[CMSG_SPACE(sizeof pidfd)];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec data = {.iov_base = &mark, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof pidfd);
    memcpy(CMSG_DATA(header), &pidfd, sizeof pidfd);
    if (sendmsg(daemon_fd, &message, MSG_NOSIGNAL) < 0 || read(daemon_fd, &taken, 1) != 1)
        return fail_errno(f, "the daemon does not take charge of the new process");
    return 0;
}

static _Noreturn void work(const json_t *request, operation *run)
{
    struct fail f = {0};
    json_t *result = run(&f, request);
    json_t *answer = result ? answer_ok(request, result) : answer_failed(request, &f);
    char *text = json_dumps(answer, JSON_COMPACT);

    if (!text || dprintf(daemon_fd, "%c%s\n", result ? OK_MARK : FAILED_MARK, text) < 0)
        _exit(1);
    _exit(0);
}

static void kill_pidfd(int fd)
{
    if (fd >= 0)
        pidfd_send_signal(fd, SIGKILL, NULL, 0);
}

static void forget(struct worker *w)
{
    struct worker **at = &workers;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    count--;
    loop_remove(&w->source);
    loop_disarm(&w->deadline);
    close(w->source.fd);
    close(w->pidfd);
    if (w->charge >= 0)
        close(w->charge);
    free(w);
}

// The news that a client hung up may still lie unread behind what workers had to say: what it can't read any more is undone.
static bool still_there(const struct connection *client)
{
    struct pollfd hangup = {.fd = client->source.fd, .events = POLLRDHUP};

    return poll(&hangup, 1, 0) == 0;
}

// The worker has ended: answer the client with the worker's line, or with the fact that there is none.
static void finish(struct worker *w)
{
    bool whole = w->bytes > 0 && memchr(w->line, '\n', w->bytes) == w->line + w->bytes - 1;

    if (!w->client || !still_there(w->client) || !whole || w->late || w->line[0] != OK_MARK)
        kill_pidfd(w->charge);
    if (w->client && whole && !w->late) {
        connection_send_line(w->client, w->line + 1, w->bytes - 1);
    } else if (w->client) {
        struct fail f;

        fail(&f, w->late ? FAIL_DEADLINE : FAIL_SYSTEM, "%s", w->late ? w->late : "the worker died before it answered");
        json_t *answer = answer_failed_id(w->id, &f);
        connection_send(w->client, answer);
        json_decref(answer);
    }
    forget(w);
}

// Takes the pidfd that came along, and lets the worker go on. Not for a worker that is to end anyway: it, and the
// process that waits for it, then never begin.
static void take_charge(struct worker *w, struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int pidfd;

    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return;
    memcpy(&pidfd, CMSG_DATA(header), sizeof pidfd);
    if (w->charge >= 0 || !w->client || w->late) {
        close(pidfd);
        return;
    }
    w->charge = pidfd;
    w->bytes = 0; // the mark
    (void)!send(w->source.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void worker_ready(struct source *source, uint32_t events)
{
    struct worker *w = (struct worker *)source;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec data = {.iov_base = w->line + w->bytes, .iov_len = sizeof w->line - w->bytes};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(source->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    (void)events;
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) { // the end, or a line too long to be an answer
        finish(w);
        return;
    }
    w->bytes += (size_t)got;
    take_charge(w, &message);
}

static void worker_late(struct deadline *deadline)
{
    struct worker *w = (struct worker *)((char *)deadline - offsetof(struct worker, deadline));

    w->late = "took too long and was ended";
    kill_pidfd(w->pidfd);
    kill_pidfd(w->charge);
}

int worker_start(struct fail *f, struct connection *client, const json_t *request, operation *run, int deadline_ms)
{
    int ends[2];
    pid_t parent = getpid();

    if (count >= WORKERS_MAX)
        return fail(f, FAIL_BUSY, "%d operations are under way", count);
    struct worker *w = malloc(sizeof *w); // not calloc: the line's pages are touched only when used
    if (!w || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        free(w);
        return fail_errno(f, "socket pair for a worker");
    }
    pid_t pid = fork();
    if (pid == 0) {
        process_begin_child(parent);
        close(ends[0]); // or it would not notice when nobody hears it
        connection_drop_in_child();
        daemon_fd = ends[1];
        work(request, run);
    }
    int error = errno;
    close(ends[1]);
    int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pidfd < 0) {
        close(ends[0]); // a worker that nobody hears ends
        free(w);
        errno = pid < 0 ? error : errno;
        return fail_errno(f, "fork of a worker");
    }
    w->source = (struct source){.fd = ends[0], .ready = worker_ready};
    w->deadline = (struct deadline){.expired = worker_late};
    w->client = client;
    w->id = json_integer_value(json_object_get(request, "id"));
    w->late = NULL;
    w->pidfd = pidfd;
    w->charge = -1;
    w->bytes = 0;
    w->next = workers;
    workers = w;
    count++;
    loop_arm(&w->deadline, deadline_ms);
    loop_add(&w->source, EPOLLIN);
    return 0;
}

void worker_client_gone(const struct connection *client)
{
    for (struct worker *w = workers; w; w = w->next)
        if (w->client == client) {
            w->client = NULL;
            kill_pidfd(w->pidfd);
            kill_pidfd(w->charge);
        }
}

void worker_end_all(void)
{
    for (struct worker *w = workers; w; w = w->next) {
        kill_pidfd(w->pidfd);
        kill_pidfd(w->charge);
    }
}
