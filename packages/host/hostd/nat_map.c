// SPDX-License-Identifier: Apache-2.0
// Elements of the map `outer` by nfnetlink itself: nft as a process takes 4 ms, this 0.1.
#include "nat.h" // first: <netinet/in.h> must come before the kernel's own headers

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "netlink.h"

// Since Linux 6.3, like DELSETELEM but content when there is none (linux/netfilter/nf_tables.h; Debian 12's is older).
#define MSG_DESTROYSETELEM 30

enum { BEGIN, ELEMENT, END, MESSAGES };

// libnftables' transactions are three messages in one datagram: begin, the change, end.
static void mark(struct netlink_message *m, int type, uint32_t sequence)
{
    // res_id says which subsystem the batch is for, in network byte order.
    struct nfgenmsg header = {.nfgen_family = AF_UNSPEC, .res_id = htons(NFNL_SUBSYS_NFTABLES)};

    netlink_begin(m, type, 0, &header, sizeof header);
    m->header.nlmsg_flags = NLM_F_REQUEST;
    m->header.nlmsg_seq = sequence;
}

static struct rtattr *nest(struct netlink_message *m, int type)
{
    return netlink_put(m, NLA_F_NESTED | type, NULL, 0);
}

static void put_value(struct netlink_message *m, int type, const void *value, size_t bytes)
{
    struct rtattr *field = nest(m, type);

    netlink_put(m, NFTA_DATA_VALUE, value, bytes);
    netlink_close_nest(m, field);
}

static void put_element(struct netlink_message *m, const char *link, const struct in_addr *outer)
{
    char key[IFNAMSIZ] = {0}; // nftables' type ifname: the name, filled up with zeros
    struct rtattr *item = nest(m, NFTA_LIST_ELEM);

    memcpy(key, link, strnlen(link, sizeof key - 1));
    put_value(m, NFTA_SET_ELEM_KEY, key, sizeof key);
    if (outer)
        put_value(m, NFTA_SET_ELEM_DATA, outer, sizeof *outer);
    netlink_close_nest(m, item);
}

static void elements(struct netlink_message *m, int operation, int flags, const char *const links[],
                     const struct in_addr *outer)
{
    struct nfgenmsg header = {.nfgen_family = NFPROTO_IPV4, .version = NFNETLINK_V0};

    netlink_begin(m, NFNL_SUBSYS_NFTABLES << 8 | operation, flags, &header, sizeof header);
    m->header.nlmsg_seq = ELEMENT;
    netlink_put(m, NFTA_SET_ELEM_LIST_TABLE, "collimate", sizeof "collimate");
    netlink_put(m, NFTA_SET_ELEM_LIST_SET, "outer", sizeof "outer");
    struct rtattr *list = nest(m, NFTA_SET_ELEM_LIST_ELEMENTS);
    for (; *links; links++)
        put_element(m, *links, outer);
    netlink_close_nest(m, list);
}

static int commit(struct fail *f, struct netlink_message messages[MESSAGES], const char *what)
{
    _Alignas(struct nlmsghdr) char answer[4096];
    struct timeval limit = {.tv_sec = 5};
    struct iovec parts[MESSAGES];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

    if (fd < 0)
        return fail_errno(f, "nfnetlink socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int i = 0; i < MESSAGES; i++)
        parts[i] = (struct iovec){.iov_base = &messages[i], .iov_len = NLMSG_ALIGN(messages[i].header.nlmsg_len)};
    ssize_t size = writev(fd, parts, MESSAGES) < 0 ? -1 : recv(fd, answer, sizeof answer, 0);
    int error = errno;
    close(fd);
    errno = error;
    if (size < 0)
        return fail_errno(f, "nfnetlink: %s", what);
    // One answer comes: to the element, or to the batch when the table is not there at all.
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
    if (!NLMSG_OK(header, (size_t)size) || header->nlmsg_type != NLMSG_ERROR)
        return fail(f, FAIL_SYSTEM, "nfnetlink: %s: the answer is not an acknowledgement", what);
    errno = -((const struct nlmsgerr *)NLMSG_DATA(header))->error;
    return errno ? fail_errno(f, "nfnetlink: %s (has net.init been done?)", what) : 0;
}

static int change(struct fail *f, int operation, int flags, const char *const links[], const struct in_addr *outer)
{
    struct netlink_message messages[MESSAGES];

    mark(&messages[BEGIN], NFNL_MSG_BATCH_BEGIN, BEGIN);
    elements(&messages[ELEMENT], operation, flags, links, outer);
    mark(&messages[END], NFNL_MSG_BATCH_END, END);
    return commit(f, messages, operation == NFT_MSG_NEWSETELEM ? "outer address of a link" : "removal of links");
}

int nat_map(struct fail *f, const char *link, struct in_addr outer)
{
    const char *const links[] = {link, NULL};

    return change(f, NFT_MSG_NEWSETELEM, NLM_F_CREATE | NLM_F_EXCL, links, &outer);
}

int nat_unmap(struct fail *f, const char *const links[])
{
    if (!*links || change(f, MSG_DESTROYSETELEM, 0, links, NULL) == 0 || strcmp(f->errno_name, "ENOENT") == 0)
        return 0; // ENOENT: not even the table is there
    return -1;
}
