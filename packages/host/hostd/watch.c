// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "process.h"
#include "request.h"

#define KEY_BYTES 128

struct watch {
    struct source source; // the pidfd; readable once the process has ended
    struct connection *client;
    pid_t pid;
    char key[KEY_BYTES + 1];
    struct watch *next;
};

static struct watch *watches;
static int count;

int watch_count(void) { return count; }

static struct watch *find(const char *key)
{
    struct watch *w = watches;

    while (w && strcmp(w->key, key) != 0)
        w = w->next;
    return w;
}

static void forget(struct watch *w)
{
    struct watch **at = &watches;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    count--;
    loop_remove(&w->source);
    close(w->source.fd);
    free(w);
}

static void process_ended(struct source *source, uint32_t events)
{
    struct watch *w = (struct watch *)source;
    json_t *event = json_pack("{s:s, s:s, s:i}", "event", "exit", "key", w->key, "pid", (int)w->pid);

    (void)events;
    connection_send(w->client, event);
    json_decref(event);
    forget(w);
}

static int read_key(struct fail *f, const json_t *request, const char **key)
{
    *key = NULL;
    return request_string(f, request, "key", KEY_BYTES, key);
}

json_t *watch_start(struct fail *f, struct connection *client, const json_t *request)
{
    static const char *const fields[] = {"key", "pid", "start_time", NULL};
    struct process_name process;
    const char *key;

    if (request_only(f, request, fields) < 0 || read_key(f, request, &key) < 0 ||
        request_process(f, request, false, &process) < 0)
        return NULL;
    if (find(key)) {
        fail(f, FAIL_CONFLICT, "key \"%s\" is watched already", key);
        return NULL;
    }
    if (count >= WATCHES_MAX) {
        fail(f, FAIL_BUSY, "%d processes are watched", count);
        return NULL;
    }
    int fd = process_open(f, process.pid, process.start_time);
    if (fd < 0)
        return NULL;
    struct watch *w = calloc(1, sizeof *w);
    if (!w) {
        fail_errno(f, "no memory for a watch");
        close(fd);
        return NULL;
    }
    w->source = (struct source){.fd = fd, .ready = process_ended};
    w->client = client;
    w->pid = process.pid;
    strcpy(w->key, key);
    w->next = watches;
    watches = w;
    count++;
    if (loop_add(&w->source, EPOLLIN) < 0) {
        fail_errno(f, "poll of process %d", (int)process.pid);
        forget(w);
        return NULL;
    }
    return json_object();
}

json_t *watch_stop(struct fail *f, struct connection *client, const json_t *request)
{
    static const char *const fields[] = {"key", NULL};
    const char *key;

    if (request_only(f, request, fields) < 0 || read_key(f, request, &key) < 0)
        return NULL;
    struct watch *w = find(key);
    bool mine = w && w->client == client;
    if (mine)
        forget(w);
    return json_pack("{s:b}", "watched", mine);
}

static json_t *send_kill(struct fail *f, int pidfd)
{
    // Killing PID 1 of a pid namespace ends all in it (pid_namespaces(7)).
    if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) == 0)
        return json_pack("{s:b}", "sent", 1);
    if (errno == ESRCH)
        return json_pack("{s:b}", "sent", 0);
    fail_errno(f, "SIGKILL");
    return NULL;
}

json_t *watch_kill(struct fail *f, const json_t *request)
{
    static const char *const by_key[] = {"key", NULL}, *const by_pid[] = {"pid", "start_time", NULL};
    struct process_name process;
    const char *key;

    if (json_object_get(request, "key")) {
        if (request_only(f, request, by_key) < 0 || read_key(f, request, &key) < 0)
            return NULL;
        struct watch *w = find(key);
        if (w)
            return send_kill(f, w->source.fd);
        fail(f, FAIL_NOT_FOUND, "key \"%s\" is not watched (its process may have ended)", key);
        return NULL;
    }
    if (request_only(f, request, by_pid) < 0 || request_process(f, request, true, &process) < 0)
        return NULL;
    int fd = process_open(f, process.pid, process.start_time);
    if (fd < 0)
        return NULL;
    json_t *result = send_kill(f, fd);
    close(fd);
    return result;
}

void watch_client_gone(const struct connection *client)
{
    for (struct watch *w = watches, *next; w; w = next) {
        next = w->next;
        if (w->client == client)
            forget(w);
    }
}

json_t *watch_list(void)
{
    json_t *list = json_array();

    for (const struct watch *w = watches; w; w = w->next)
        json_array_append_new(list, json_pack("{s:s, s:i}", "key", w->key, "pid", (int)w->pid));
    return list;
}
