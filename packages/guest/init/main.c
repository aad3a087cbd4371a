// SPDX-License-Identifier: Apache-2.0
#include "clock.h"
#include "handlers.h"
#include "harden.h"
#include "kernels.h"
#include "spawn.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// PID 1 of a sandbox. It listens, starts a handler per connection, keeps the interpreters' turns, reaps, and does
// nothing else: whatever touches a client's bytes happens in a process that may die.

static const char listen_name[] = "collimate-init"; // abstract: no path that a sandbox could move or replace

__attribute__((noreturn)) static void refuse_to_start(const char *what)
{
	dprintf(STDERR_FILENO, "collimate-init: %s: %s\n", what, strerror(errno));
	_exit(70);
}

static int listen_here(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path + 1, listen_name, sizeof listen_name - 1);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof listen_name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 1024) < 0)
		refuse_to_start("cannot listen");
	return fd;
}

static void on_child(int signal)
{
	(void)signal; // its only work is to end a ppoll
}

static void prepare_signals(void)
{
	sigset_t blocked;
	struct sigaction child = {.sa_handler = on_child};
	// As PID 1 every signal without a handler is ignored when it comes from inside.
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static void prepare_descriptors(void)
{
	struct rlimit files;
	// A descriptor opened outside would make the sandbox impossible to checkpoint.
	int null = open("/dev/null", O_RDWR);
	if (null < 0)
		refuse_to_start("/dev/null");
	spawn_remember_limits();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 4096) {
		files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 3, ~0U, 0);
}

static void reap(void)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		if (!handlers_reaped(pid))
			kernels_reaped(pid, status);
}

// A process inside has a number here; one outside has none, which the kernel shows as 0 (credentials(7)).
static bool comes_from_outside(int connection)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == 0;
}

static void accept_one(int listener)
{
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		return;
	if (comes_from_outside(connection))
		handlers_start(connection, listener);
	close(connection);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void wait_for_events(struct pollfd *polls, size_t count)
{
	int64_t end = earlier(kernels_deadline(), quiesce_deadline()), left = end - now_ms();
	struct timespec t = {left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000000 : 0};
	sigset_t none;
	sigemptyset(&none);
	if (ppoll(polls, count, end < 0 ? NULL : &t, &none) < 0)
		for (size_t i = 0; i < count; i++)
			polls[i].revents = 0;
}

static void loop(int listener)
{
	static struct pollfd polls[HANDLERS_MAX + 16];
	static struct handler_ref refs[HANDLERS_MAX];
	for (;;) {
		reap();
		kernels_advance();
		quiesce_advance();
		polls[0] = (struct pollfd){.fd = handlers_full() ? -1 : listener, .events = POLLIN};
		size_t kernels = kernels_poll(polls + 1);
		size_t handlers = handlers_poll(polls + 1 + kernels, refs);
		wait_for_events(polls, 1 + kernels + handlers);
		for (size_t i = 1; i <= kernels; i++)
			if (polls[i].revents)
				kernels_event(polls[i].fd);
		for (size_t i = 0; i < handlers; i++)
			if (polls[1 + kernels + i].revents)
				handlers_event(refs[i]);
		if (polls[0].revents && !handlers_full()) // asked again: the events before may have begun a sweep
			accept_one(listener);
	}
}

int main(int argc, char **argv)
{
	bool hardened = argc == 2 && strcmp(argv[1], "--harden") == 0;
	if (argc > 2 || (argc == 2 && !hardened)) {
		dprintf(STDERR_FILENO, "usage: collimate-init [--harden]\n");
		return 64;
	}
	if (getpid() != 1) {
		dprintf(STDERR_FILENO, "collimate-init: must be PID 1 of a PID namespace of its own\n");
		return 64;
	}
	setsid(); // a session that began outside could not be checkpointed
	prepare_signals();
	if (hardened && !harden())
		refuse_to_start("cannot harden");
	prepare_descriptors();
	loop(listen_here());
}
