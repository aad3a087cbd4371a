// SPDX-License-Identifier: Apache-2.0
// For tests: stands outside a sandbox, as the agent does, and joins connections to a unix socket path with init's
// abstract socket in the network namespace of a process.   netns-proxy PID PATH
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int die(const char *what)
{
	perror(what);
	return 1;
}

static int dial(void)
{
	static const char name[] = "collimate-init";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	memcpy(a.sun_path + 1, name, sizeof name - 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + sizeof name) < 0)
		_exit(1);
	return fd;
}

// Moves what is there from one to the other; 0 at the end.
static int move(int from, int to)
{
	static char bytes[256 * 1024];
	ssize_t n = read(from, bytes, sizeof bytes);
	if (n <= 0)
		return 0;
	for (ssize_t done = 0, m; done < n; done += m)
		if ((m = send(to, bytes + done, n - done, MSG_NOSIGNAL)) <= 0)
			return 0;
	return 1;
}

static void join(int client, int guest)
{
	struct pollfd p[2] = {{.fd = client, .events = POLLIN}, {.fd = guest, .events = POLLIN}};
	for (;;) {
		poll(p, 2, -1);
		if (p[1].revents && !move(guest, client)) {
			shutdown(client, SHUT_WR);
			p[1].fd = -1;
		}
		if (p[0].revents && !move(client, guest)) {
			shutdown(guest, SHUT_WR); // what the guest has said already still reaches the client
			p[0].fd = -1;
		}
		if (p[0].fd < 0 && p[1].fd < 0)
			_exit(0);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof a.sun_path, "%s", argv[2]);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(listener, 1024) < 0)
		return die("listen");
	char path[64];
	snprintf(path, sizeof path, "/proc/%s/ns/net", argv[1]);
	int ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		return die("setns");
	puts("ready");
	fflush(stdout);
	for (;;) {
		int client = accept(listener, NULL, NULL);
		if (client >= 0 && fork() == 0) {
			close(listener);
			join(client, dial());
		}
		close(client);
	}
}
