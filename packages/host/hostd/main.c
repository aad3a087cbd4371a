// SPDX-License-Identifier: Apache-2.0
// collimate-hostd: the privileged mechanisms that Node cannot reach, for one agent on one node.
// Started by the agent in the agent's private mount namespace; ends when its standard input ends (the agent has gone),
// leaving sandboxes alone.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "dial.h"
#include "loop.h"
#include "overlay.h"
#include "worker.h"

static void stdin_ready(struct source *source, uint32_t events)
{
    char discarded[512];
    ssize_t got = read(source->fd, discarded, sizeof discarded);

    (void)events;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        loop_stop();
}

static void signal_ready(struct source *source, uint32_t events)
{
    struct signalfd_siginfo info;

    (void)events;
    if (read(source->fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
        loop_stop();
        return;
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ; // workers are told by their end; booted sandboxes by their watch
}

static int start_signals(struct source *source)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    source->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    source->ready = signal_ready;
    return source->fd < 0 ? -1 : loop_add(source, EPOLLIN);
}

static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "collimate-hostd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static const char *read_arguments(int argc, char **argv)
{
    const char *socket = NULL;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc) {
            socket = argv[++i];
        } else if (strcmp(argv[i], "--act-as-old-kernel") == 0) {
            overlay_act_as_old_kernel();
        } else {
            fprintf(stderr, "collimate-hostd: unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
    if (!socket) {
        fprintf(stderr, "usage: collimate-hostd --socket PATH [--act-as-old-kernel]\n");
        exit(2);
    }
    return socket;
}

int main(int argc, char **argv)
{
    struct source agent = {.fd = STDIN_FILENO, .ready = stdin_ready}, signals;
    const char *socket = read_arguments(argc, argv);

    raise_file_limit();
    // Workers' children (sandboxes) come to us when their worker ends, so that someone reaps them; when we end, they
    // go on to the next reaper up.
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        give_up("PR_SET_CHILD_SUBREAPER");
    if (loop_init() < 0 || start_signals(&signals) < 0)
        give_up("event loop");
    if (dial_init() < 0)
        give_up("own network namespace, and the channel to the agent");
    if (loop_add(&agent, EPOLLIN) < 0)
        give_up("standard input must be a pipe or socket whose end tells that the agent has gone");
    if (connection_listen(socket) < 0)
        give_up(socket);
    printf("{\"ready\":true,\"pid\":%d}\n", (int)getpid());
    fflush(stdout);
    loop_run();
    worker_end_all();
    connection_unlisten();
    return 0;
}
