// SPDX-License-Identifier: Apache-2.0
// A PID 1 for tests: answers one command a connection on the abstract socket "test-init" and on TCP 127.0.0.1:7007.
//   read PATH | stat PATH | write PATH TEXT | fds | peer | mknod PATH | daemon | inotify PATH | echo | close-then-drain
//   | stuck
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        exit(1);
}

static void say_errno(int fd, const char *what) { dprintf(fd, "error %s: %s\n", what, strerrorname_np(errno)); }

static void copy(int from, int to, size_t most)
{
    char buffer[65536];
    ssize_t got;

    while (most > 0 && (got = read(from, buffer, most < sizeof buffer ? most : sizeof buffer)) > 0) {
        for (ssize_t done = 0, put; done < got; done += put)
            if ((put = write(to, buffer + done, (size_t)(got - done))) < 0)
                exit(1);
        most -= (size_t)got;
    }
}

static void read_file(int client, const char *path)
{
    int fd = open(path, O_RDONLY);

    if (fd < 0)
        say_errno(client, "open");
    else
        copy(fd, client, 65536);
}

static void write_file(int client, char *path)
{
    char *text = strchr(path, ' ');
    *text++ = '\0';
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        say_errno(client, "write");
    else
        say(client, "ok\n");
}

static void stat_file(int client, const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        say_errno(client, "stat");
    else
        dprintf(client, "%u %u %o\n", st.st_uid, st.st_gid, st.st_mode & 07777);
}

// PID 1's open files with what they are, one a line.
static void list_fds(int client)
{
    DIR *directory = opendir("/proc/1/fd");
    char path[300], target[300];

    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/1/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length >= 0)
            dprintf(client, "%s %.*s\n", entry->d_name, (int)length, target);
    }
}

// Stays behind and appends what it sees happen to PATH to /seen.
static void keep_inotify(int client, const char *path)
{
    int fd = inotify_init1(IN_CLOEXEC);

    if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY) < 0) {
        say_errno(client, "inotify");
    } else if (fork() == 0) {
        char event[4096];

        setsid();
        close(client);
        while (read(fd, event, sizeof event) > 0) {
            int seen = open("/seen", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
            if (write(seen, "modified\n", 9) < 0)
                exit(1);
            close(seen);
        }
    } else {
        say(client, "ok\n");
    }
}

static void serve(int client)
{
    char line[4096];
    size_t used = 0;
    struct ucred peer = {0};
    socklen_t size = sizeof peer;

    while (used < sizeof line - 1 && read(client, line + used, 1) == 1 && line[used] != '\n')
        used++;
    line[used] = '\0';
    if (strncmp(line, "read ", 5) == 0)
        read_file(client, line + 5);
    else if (strncmp(line, "write ", 6) == 0)
        write_file(client, line + 6);
    else if (strncmp(line, "stat ", 5) == 0)
        stat_file(client, line + 5);
    else if (strcmp(line, "fds") == 0)
        list_fds(client);
    else if (strcmp(line, "peer") == 0) {
        getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size);
        dprintf(client, "%d\n", peer.pid);
    } else if (strncmp(line, "mknod ", 6) == 0) {
        if (mknod(line + 6, S_IFCHR | 0666, makedev(1, 3)) < 0)
            say_errno(client, "mknod");
        else
            say(client, "ok\n");
    } else if (strcmp(line, "daemon") == 0) {
        if (fork() == 0) {
            setsid();
            close(client);
            for (;;)
                pause();
        }
        say(client, "ok\n");
    } else if (strncmp(line, "inotify ", 8) == 0) {
        keep_inotify(client, line + 8);
    } else if (strcmp(line, "echo") == 0) {
        copy(client, client, SIZE_MAX);
        say(client, "end of input\n");
    } else if (strcmp(line, "close-then-drain") == 0) { // ends its output at once, still counts what comes in
        char buffer[65536];
        size_t total = 0;
        ssize_t got;

        say(client, "closing\n");
        shutdown(client, SHUT_WR);
        while ((got = read(client, buffer, sizeof buffer)) > 0)
            total += (size_t)got;
        int fd = open("/drained", O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dprintf(fd, "%zu", total);
    } else if (strcmp(line, "deaf") == 0) { // stays behind with a listener that accepts nobody
        struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "\0deaf"};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (bind(fd, (void *)&local, offsetof(struct sockaddr_un, sun_path) + sizeof "\0deaf" - 1) < 0 || listen(fd, 0) < 0) {
            say_errno(client, "listen");
        } else if (fork() == 0) {
            setsid();
            close(client);
            for (;;)
                pause();
        } else {
            say(client, "listening\n");
        }
    } else if (strcmp(line, "stuck") == 0) { // never reads on, until its peer has gone
        struct pollfd end = {.fd = client};
        poll(&end, 1, -1);
    }
    exit(0);
}

static int listen_on(int family, const void *address, socklen_t bytes)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, address, bytes) < 0 || listen(fd, 1024) < 0)
        exit(1);
    return fd;
}

int main(void)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "\0test-init"};
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(7007)};
    struct pollfd listeners[2];

    inet_pton(AF_INET, "127.0.0.1", &tcp.sin_addr);
    listeners[0].fd = listen_on(AF_UNIX, &local, offsetof(struct sockaddr_un, sun_path) + sizeof "\0test-init" - 1);
    listeners[1].fd = listen_on(AF_INET, &tcp, sizeof tcp);
    listeners[0].events = listeners[1].events = POLLIN;
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        if (poll(listeners, 2, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++) {
            int client = listeners[i].revents & POLLIN ? accept(listeners[i].fd, NULL, NULL) : -1;

            if (client >= 0 && fork() == 0) {
                close(listeners[0].fd);
                close(listeners[1].fd);
                serve(client);
            }
            if (client >= 0)
                close(client);
        }
    }
}
