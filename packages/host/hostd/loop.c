// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

static int epoll_fd = -1;
static bool stopping;
static struct deadline *armed;

int loop_init(void)
{
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return epoll_fd < 0 ? -1 : 0;
}

static int control(int operation, struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    return epoll_ctl(epoll_fd, operation, source->fd, &event);
}

int loop_add(struct source *source, uint32_t events) { return control(EPOLL_CTL_ADD, source, events); }

int loop_change(struct source *source, uint32_t events) { return control(EPOLL_CTL_MOD, source, events); }

void loop_remove(struct source *source) { control(EPOLL_CTL_DEL, source, 0); }

int64_t loop_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void loop_arm(struct deadline *deadline, int64_t after_ms)
{
    loop_disarm(deadline);
    deadline->at_ms = loop_now_ms() + after_ms;
    deadline->previous = NULL;
    deadline->next = armed;
    if (armed)
        armed->previous = deadline;
    armed = deadline;
}

void loop_disarm(struct deadline *deadline)
{
    if (!deadline->next && !deadline->previous && armed != deadline)
        return;
    if (deadline->previous)
        deadline->previous->next = deadline->next;
    else
        armed = deadline->next;
    if (deadline->next)
        deadline->next->previous = deadline->previous;
    deadline->next = deadline->previous = NULL;
}

// A plain list: at most a few hundred deadlines are armed at a time, and only while something is under way.
static int next_wait_ms(void)
{
    int64_t soonest = INT64_MAX;

    for (struct deadline *d = armed; d; d = d->next)
        if (d->at_ms < soonest)
            soonest = d->at_ms;
    if (soonest == INT64_MAX)
        return -1;
    int64_t wait = soonest - loop_now_ms();
    return wait < 0 ? 0 : wait > 60000 ? 60000 : (int)wait;
}

// One at a time and from the start again: expired() may arm, disarm and free others.
static void expire(void)
{
    int64_t now = loop_now_ms();

    for (struct deadline *d = armed; d;) {
        if (d->at_ms > now) {
            d = d->next;
            continue;
        }
        loop_disarm(d);
        d->expired(d);
        d = armed;
    }
}

void loop_run(void)
{
    while (!stopping) {
        // One event per wait: handling one may free the source of another that would be in the same batch.
        struct epoll_event event;
        int count = epoll_wait(epoll_fd, &event, 1, next_wait_ms());

        if (count < 0 && errno != EINTR) {
            perror("collimate-hostd: epoll_wait");
            exit(1);
        }
        if (count == 1) {
            struct source *source = event.data.ptr;
            source->ready(source, event.events);
        }
        expire();
    }
}

void loop_stop(void) { stopping = true; }
