/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With --empty-ns net the restored tree gets a new network namespace with
 * nothing in it, in which a socket bound to an address could not be restored.
 * So before any socket is, `lo` is brought up, the addresses of the request are
 * put on it and non-local binds are allowed; then the client may be asked to
 * add its own interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "types.h"
#include "action-scripts.h"
#include "cr_options.h"
#include "log.h"
#include "namespaces.h"
#include "pstree.h"
#include "rst_info.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define CLIENT_TURN_MS 10000

int __real_run_scripts(enum script_actions act);
int __wrap_run_scripts(enum script_actions act);

static int client = -1;
static const struct request *config;

void new_net_configure(int conn, const struct request *rq)
{
	client = conn;
	config = rq;
}

/* Sends one rtnetlink request and waits for its acknowledgement. */
static int ask(int sk, struct nlmsghdr *m)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[512];
	} answer;
	ssize_t n;

	m->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (send(sk, m, m->nlmsg_len, 0) < 0)
		return -1;
	n = recv(sk, &answer, sizeof(answer), 0);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(answer.e)) || answer.h.nlmsg_type != NLMSG_ERROR) {
		errno = EPROTO;
		return -1;
	}
	errno = -answer.e.error;
	return errno ? -1 : 0;
}

static int lo_up(int sk, int lo)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} m = {
		.h = { .nlmsg_len = sizeof(m), .nlmsg_type = RTM_NEWLINK },
		.i = { .ifi_family = AF_UNSPEC, .ifi_index = lo, .ifi_flags = IFF_UP, .ifi_change = IFF_UP },
	};

	return ask(sk, &m.h);
}

static void put_attr(struct nlmsghdr *m, int type, const void *data, size_t len)
{
	struct rtattr *a = (struct rtattr *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	m->nlmsg_len = NLMSG_ALIGN(m->nlmsg_len) + RTA_ALIGN(a->rta_len);
}

/* `text` is ADDRESS/BITS, IPv4 or IPv6; request.c has checked its length. */
static int add_address(int sk, int lo, const char *text)
{
	char copy[64], raw[16], *slash, *end;
	struct {
		struct nlmsghdr h;
		struct ifaddrmsg a;
		char attrs[128];
	} m = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)),
		       .nlmsg_type = RTM_NEWADDR,
		       .nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE } };
	bool v6 = strchr(text, ':') != NULL;
	size_t len = v6 ? 16 : 4;
	unsigned long bits;

	if (strlen(text) >= sizeof(copy))
		goto bad;
	strcpy(copy, text);
	slash = strchr(copy, '/');
	if (!slash)
		goto bad;
	*slash = 0;
	bits = strtoul(slash + 1, &end, 10);
	if (!slash[1] || *end || bits > len * 8 || inet_pton(v6 ? AF_INET6 : AF_INET, copy, raw) != 1)
		goto bad;

	m.a.ifa_family = v6 ? AF_INET6 : AF_INET;
	m.a.ifa_prefixlen = bits;
	m.a.ifa_index = lo;
	/* A socket may bind to a tentative IPv6 address only later; nobody else is on this link. */
	m.a.ifa_flags = v6 ? IFA_F_NODAD : 0;
	put_attr(&m.h, IFA_LOCAL, raw, len);
	put_attr(&m.h, IFA_ADDRESS, raw, len);
	return ask(sk, &m.h);
bad:
	errno = EINVAL;
	return -1;
}

static int write_sysctl(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ok;

	/* A kernel without IPv6 has nothing to allow there. */
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	ok = write(fd, "1", 1) == 1;
	close(fd);
	return ok ? 0 : -1;
}

/* Runs in a child that shares our memory; its namespace is its own. */
static int set_up(void *arg)
{
	int ns = *(int *)arg, sk, lo;
	size_t i;

	if (setns(ns, CLONE_NEWNET)) {
		pr_perror("Can't enter the new network namespace");
		return 1;
	}
	sk = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	lo = if_nametoindex("lo");
	if (sk < 0 || !lo || lo_up(sk, lo)) {
		pr_perror("Can't bring lo up");
		goto err;
	}
	for (i = 0; i < config->nr_addr; i++)
		if (add_address(sk, lo, config->addr[i])) {
			pr_perror("Can't add address %s", config->addr[i]);
			goto err;
		}
	if (write_sysctl("/proc/sys/net/ipv4/ip_nonlocal_bind") ||
	    write_sysctl("/proc/sys/net/ipv6/ip_nonlocal_bind")) {
		pr_perror("Can't allow non-local binds");
		goto err;
	}
	close(sk);
	return 0;
err:
	if (sk >= 0)
		close(sk);
	return 1;
}

/*
 * CLONE_VM | CLONE_VFORK copies no page tables; without an exit signal criu's
 * SIGCHLD handler never sees the child.
 */
static int in_namespace_of(pid_t pid)
{
	char path[64], stack[16384] __attribute__((aligned(16)));
	int ns, status = -1;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0) {
		pr_perror("Can't open %s", path);
		return -1;
	}
	child = clone(set_up, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, &ns);
	if (child < 0)
		pr_perror("Can't fork for the network namespace");
	else if (waitpid(child, &status, __WCLONE) != child)
		pr_perror("Can't wait for the network set-up");
	close(ns);
	return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

/* Tells the client where the namespace is and waits for its "go". */
static int client_turn(pid_t pid)
{
	char line[64], answer[3];
	size_t got = 0;
	int n = snprintf(line, sizeof(line), "{\"ns\":%d}\n", pid);
	double until = now_ms() + CLIENT_TURN_MS;

	if (send(client, line, n, MSG_NOSIGNAL) != n) {
		pr_perror("The client has gone before its turn");
		return -1;
	}
	while (got < sizeof(answer)) {
		struct pollfd p = { .fd = client, .events = POLLIN };
		double left = until - now_ms();
		ssize_t r;

		r = left > 0 ? poll(&p, 1, left) : 0;
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0) {
			pr_err("The client did not answer within %d ms\n", CLIENT_TURN_MS);
			return -1;
		}
		r = read(client, answer + got, sizeof(answer) - got);
		if (r < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (r <= 0) {
			pr_err("The client went away in its turn\n");
			return -1;
		}
		got += r;
	}
	if (memcmp(answer, "go\n", 3)) {
		pr_err("The client called the restore off\n");
		return -1;
	}
	return 0;
}

int __wrap_run_scripts(enum script_actions act)
{
	if (act == ACT_POST_DUMP && (task_settings_dump() || dump_stage_over()))
		return -1;
	if (act == ACT_PRE_RESUME) {
		task_settings_restore_threads();
		if (terminal_data_restore())
			return -1;
	}
	if (config && act == ACT_POST_SETUP_NS && (root_ns_mask & CLONE_NEWNET)) {
		pid_t pid = root_item->pid->real;

		if ((opts.empty_ns & CLONE_NEWNET) && in_namespace_of(pid))
			return -1;
		if (config->wait_ns && client_turn(pid))
			return -1;
	}
	return __real_run_scripts(act);
}
