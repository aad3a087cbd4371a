// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "answer.h"
#include "process.h"

// What a worker writes to its pipe: perhaps "@PID\n", the process it answers for, then "+ANSWER\n" or "-ANSWER\n".
#define PID_MARK '@'
#define OK_MARK '+'
#define FAILED_MARK '-'

struct worker {
    struct source source; // read end of its pipe
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
static int answer_fd = -1; // in a worker

int worker_count(void) { return count; }

void worker_answers_for(pid_t pid) { dprintf(answer_fd, "%c%d\n", PID_MARK, (int)pid); }

static _Noreturn void work(const json_t *request, operation *run)
{
    struct fail f = {0};
    json_t *result = run(&f, request);
    json_t *answer = result ? answer_ok(request, result) : answer_failed(request, &f);
    char *text = json_dumps(answer, JSON_COMPACT);

    if (!text || dprintf(answer_fd, "%c%s\n", result ? OK_MARK : FAILED_MARK, text) < 0)
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

// The pipe has ended: answer the client with the worker's line, or with the fact that there is none.
static void finish(struct worker *w)
{
    bool whole = w->bytes > 0 && memchr(w->line, '\n', w->bytes) == w->line + w->bytes - 1;

    if (!w->client || !whole || w->late || w->line[0] != OK_MARK)
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

// Opens the pidfd at once: the worker does not let that process run before its announcement is written,
// and as its parent has not reaped it, so the pid is still its own.
static void take_announcement(struct worker *w)
{
    char *newline = w->bytes > 0 && w->line[0] == PID_MARK ? memchr(w->line, '\n', w->bytes) : NULL;

    if (!newline)
        return;
    size_t used = (size_t)(newline - w->line) + 1;
    w->charge = pidfd_open((pid_t)strtol(w->line + 1, NULL, 10), 0);
    w->bytes -= used;
    memmove(w->line, w->line + used, w->bytes);
}

static void worker_ready(struct source *source, uint32_t events)
{
    struct worker *w = (struct worker *)source;
    ssize_t got = read(source->fd, w->line + w->bytes, sizeof w->line - w->bytes);

    (void)events;
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) { // the end, or a line too long to be an answer
        finish(w);
        return;
    }
    w->bytes += (size_t)got;
    take_announcement(w);
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
    if (!w || pipe2(ends, O_CLOEXEC) < 0) {
        free(w);
        return fail_errno(f, "pipe for a worker");
    }
    pid_t pid = fork();
    if (pid == 0) {
        process_begin_child(parent);
        answer_fd = ends[1];
        work(request, run);
    }
    int error = errno;
    close(ends[1]);
    int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pidfd < 0) {
        close(ends[0]); // a worker without a reader has its answer refused and ends
        free(w);
        errno = pid < 0 ? error : errno;
        return fail_errno(f, "fork of a worker");
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
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
