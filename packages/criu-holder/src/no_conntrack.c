/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * criu dumps the entries of connection tracking of a network namespace, twice,
 * each time walking the hash table that all namespaces of the host share: 18 ms
 * with the tree stopped. A tree that gets an empty namespace has no use for
 * them: with the parent's translations its packets would even leave under the
 * parent's address.
 */
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>

#include "types.h"
#include "cr_options.h"
#include "libnetlink.h"

typedef int on_message(struct nlmsghdr *h, struct ns_id *ns, void *arg);
typedef int on_error(int err, struct ns_id *ns, void *arg);

int __real_do_rtnl_req(int nl, void *req, int size, on_message *receive, on_error *error, struct ns_id *ns, void *arg);
int __wrap_do_rtnl_req(int nl, void *req, int size, on_message *receive, on_error *error, struct ns_id *ns, void *arg);

static bool asks_for_conntrack(const struct nlmsghdr *m)
{
	int subsystem = NFNL_SUBSYS_ID(m->nlmsg_type);

	return (m->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP &&
	       (subsystem == NFNL_SUBSYS_CTNETLINK || subsystem == NFNL_SUBSYS_CTNETLINK_EXP);
}

int __wrap_do_rtnl_req(int nl, void *req, int size, on_message *receive, on_error *error, struct ns_id *ns, void *arg)
{
	if ((opts.empty_ns & CLONE_NEWNET) && asks_for_conntrack(req))
		return 0;
	return __real_do_rtnl_req(nl, req, size, receive, error, ns, arg);
}
