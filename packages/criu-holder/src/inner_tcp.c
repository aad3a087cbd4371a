/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With --tcp-close criu closes every established connection of the restored
 * tree. A connection whose both ends are in the tree goes along whole: only
 * one that leads out of it is closed.
 */
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "types.h"
#include "cr_options.h"
#include "log.h"
#include "sk-inet.h"
#include "xmalloc.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

void __real_tcp_locked_conn_add(struct inet_sk_info *ii);
void __wrap_tcp_locked_conn_add(struct inet_sk_info *ii);
int __real_restore_one_tcp(int fd, struct inet_sk_info *ii);
int __wrap_restore_one_tcp(int fd, struct inet_sk_info *ii);

/* Every connected TCP socket of the images, collected before the first task is forked; sorted when first asked. */
static struct {
	struct inet_sk_info **v;
	size_t nr, cap;
	bool sorted, incomplete;
} connected;

void __wrap_tcp_locked_conn_add(struct inet_sk_info *ii)
{
	__real_tcp_locked_conn_add(ii);
	if (connected.nr == connected.cap) {
		size_t cap = connected.cap ? connected.cap * 2 : 64;
		void *v = xrealloc(connected.v, cap * sizeof(*connected.v));

		if (!v) {
			connected.incomplete = true;
			return;
		}
		connected.v = v;
		connected.cap = cap;
	}
	connected.v[connected.nr++] = ii;
	connected.sorted = false;
}

/* An address as IPv6 writes it: a socket that takes both families talks to one of IPv4 by a mapped address. */
struct end {
	uint32_t addr[4];
	uint32_t port;
};

static struct end end_of(const InetSkEntry *ie, bool source)
{
	const uint32_t *addr = source ? ie->src_addr : ie->dst_addr;
	size_t n = source ? ie->n_src_addr : ie->n_dst_addr, i;
	struct end end = { .port = source ? ie->src_port : ie->dst_port };

	if (ie->family == AF_INET6) {
		for (i = 0; i < 4 && i < n; i++)
			end.addr[i] = addr[i];
	} else {
		end.addr[2] = htonl(0xffff);
		end.addr[3] = n ? addr[0] : 0;
	}
	return end;
}

struct connection {
	uint32_t ns;
	struct end here, there;
};

/* memcmp compares it: no padding. */
_Static_assert(sizeof(struct connection) == 11 * sizeof(uint32_t), "padding in struct connection");

static struct connection connection_of(const InetSkEntry *ie)
{
	return (struct connection){ ie->has_ns_id ? ie->ns_id : 0, end_of(ie, true), end_of(ie, false) };
}

static int by_connection(const void *a, const void *b)
{
	struct connection x = connection_of((*(struct inet_sk_info *const *)a)->ie);
	struct connection y = connection_of((*(struct inet_sk_info *const *)b)->ie);

	return memcmp(&x, &y, sizeof(x));
}

static int against_connection(const void *key, const void *element)
{
	struct connection y = connection_of((*(struct inet_sk_info *const *)element)->ie);

	return memcmp(key, &y, sizeof(y));
}

static bool other_end_is_here(const InetSkEntry *ie)
{
	struct connection own = connection_of(ie);
	struct connection other = { own.ns, own.there, own.here };

	if (!connected.sorted) {
		qsort(connected.v, connected.nr, sizeof(*connected.v), by_connection);
		connected.sorted = true;
	}
	return bsearch(&other, connected.v, connected.nr, sizeof(*connected.v), against_connection) != NULL;
}

/*
 * The other end has closed and no program has it any more. Nothing is sent on
 * such a connection but what lies in its queue already, and a reader gets that
 * and then the end.
 */
static bool other_end_has_closed(const InetSkEntry *ie)
{
	struct end here = end_of(ie, true), there = end_of(ie, false);

	return ie->state == TCP_CLOSE_WAIT && !memcmp(here.addr, there.addr, sizeof(here.addr));
}

int __wrap_restore_one_tcp(int fd, struct inet_sk_info *ii)
{
	bool close_all = opts.tcp_close;
	int ret;

	if (close_all && !connected.incomplete)
		opts.tcp_close = !other_end_is_here(ii->ie) && !other_end_has_closed(ii->ie);
	ret = __real_restore_one_tcp(fd, ii);
	opts.tcp_close = close_all;
	return ret;
}
