// SPDX-License-Identifier: Apache-2.0
#include "veth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/neighbour.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nat.h"
#include "net.h"
#include "netlink.h"
#include "request.h"

#define INNER_DEVICE "eth0"
#define GROUP 0xc0111 // of the hosts' ends, by which all are removed in one message

// The same on every pair, as each is a segment of its own: a fork finds the neighbours it knew.
static const uint8_t gateway_mac[6] = {0x02, 0xc0, 0x11, 0x00, 0x00, 0x01};
static const uint8_t inner_mac[6] = {0x02, 0xc0, 0x11, 0x00, 0x00, 0x02};

struct cable {
    struct process_name process;
    const char *link; // the host's end
    struct in_addr outer;
    uint32_t mtu;
    int host, inside; // netlink sockets
    int home_ns, inner_ns;
};

static int check_link(struct fail *f, const char *link)
{
    const char *number = link + strlen(NAT_LINK_PREFIX);

    if (strlen(link) >= IF_NAMESIZE || strncmp(link, NAT_LINK_PREFIX, strlen(NAT_LINK_PREFIX)) != 0 || !*number ||
        number[strspn(number, "0123456789")] != '\0')
        return fail(f, FAIL_REQUEST, "the name of a cable must be " NAT_LINK_PREFIX "<number>");
    return 0;
}

static int read_cable(struct fail *f, const json_t *request, struct cable *cable)
{
    static const char *const fields[] = {"pid", "start_time", "name", "outer", "mtu", NULL};
    const char *outer = NULL;
    int64_t mtu = 1500;

    cable->link = NULL;
    if (request_only(f, request, fields) < 0 || request_process(f, request, true, &cable->process) < 0 ||
        request_string(f, request, "name", IF_NAMESIZE - 1, &cable->link) < 0 || check_link(f, cable->link) < 0 ||
        request_string(f, request, "outer", INET_ADDRSTRLEN, &outer) < 0 ||
        request_integer(f, request, "mtu", 576, 65535, &mtu) < 0)
        return -1;
    if (inet_pton(AF_INET, outer, &cable->outer) != 1 || ntohl(cable->outer.s_addr) >> 22 != (100 << 2 | 64 >> 6))
        return fail(f, FAIL_REQUEST, "field \"outer\" must be an address of 100.64.0.0/10");
    cable->mtu = (uint32_t)mtu;
    return 0;
}

// Opens what speaks for each side, and comes back to the host's.
static int open_both_sides(struct fail *f, struct cable *cable)
{
    cable->home_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    cable->host = netlink_open(f);
    if (cable->home_ns < 0 || cable->host < 0)
        return fail_errno(f, "the host's network namespace");
    if (net_enter(f, cable->process.pid, cable->process.start_time) < 0)
        return -1;
    cable->inner_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    cable->inside = netlink_open(f);
    if (cable->inner_ns < 0 || cable->inside < 0)
        return fail_errno(f, "the sandbox's network namespace");
    return setns(cable->home_ns, CLONE_NEWNET) < 0 ? fail_errno(f, "back into the host's network namespace") : 0;
}

// Both ends in one message. The inner one is not up in it: the kernel would refuse all (ENOTCONN).
static int create(struct fail *f, const struct cable *cable)
{
    struct ifinfomsg host = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP}, inner = {0};
    struct netlink_message m;
    uint32_t inner_ns = (uint32_t)cable->inner_ns, group = GROUP;

    netlink_begin(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &host, sizeof host);
    netlink_put(&m, IFLA_IFNAME, cable->link, strlen(cable->link) + 1);
    netlink_put(&m, IFLA_ADDRESS, gateway_mac, sizeof gateway_mac);
    netlink_put(&m, IFLA_MTU, &cable->mtu, sizeof cable->mtu);
    netlink_put(&m, IFLA_GROUP, &group, sizeof group);
    struct rtattr *info = netlink_put(&m, IFLA_LINKINFO, NULL, 0);
    netlink_put(&m, IFLA_INFO_KIND, "veth", 4);
    struct rtattr *data = netlink_put(&m, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *peer = netlink_put(&m, VETH_INFO_PEER, &inner, sizeof inner);
    netlink_put(&m, IFLA_IFNAME, INNER_DEVICE, sizeof INNER_DEVICE);
    netlink_put(&m, IFLA_ADDRESS, inner_mac, sizeof inner_mac);
    netlink_put(&m, IFLA_MTU, &cable->mtu, sizeof cable->mtu);
    netlink_put(&m, IFLA_NET_NS_FD, &inner_ns, sizeof inner_ns);
    netlink_close_nest(&m, peer);
    netlink_close_nest(&m, data);
    netlink_close_nest(&m, info);
    return netlink_ask(f, cable->host, &m, "veth pair");
}

static int set_device(struct fail *f, const char *family, const char *device, const char *name, const char *value)
{
    char path[128];

    snprintf(path, sizeof path, "/proc/sys/net/%s/conf/%s/%s", family, device, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && strcmp(family, "ipv6") == 0)
        return 0; // a kernel without IPv6
    if (fd < 0)
        return fail_errno(f, "open of %s", path);
    int result = write(fd, value, strlen(value)) < 0 ? fail_errno(f, "write to %s", path) : 0;
    close(fd);
    return result;
}

static int add_neighbour(struct fail *f, int fd, unsigned index, struct in_addr address, const uint8_t mac[6])
{
    struct ndmsg header = {.ndm_family = AF_INET, .ndm_ifindex = (int)index, .ndm_state = NUD_PERMANENT};
    struct netlink_message m;

    netlink_begin(&m, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &header, sizeof header);
    netlink_put(&m, NDA_DST, &address, sizeof address);
    netlink_put(&m, NDA_LLADDR, mac, 6);
    return netlink_ask(f, fd, &m, "neighbour");
}

static int add_host_route(struct fail *f, int fd, unsigned index, struct in_addr address)
{
    struct rtmsg header = {.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_table = RT_TABLE_MAIN,
                           .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_LINK, .rtm_type = RTN_UNICAST};
    struct netlink_message m;

    netlink_begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
    netlink_put(&m, RTA_DST, &address, sizeof address);
    netlink_put(&m, RTA_OIF, &index, sizeof index);
    return netlink_ask(f, fd, &m, "route to the sandbox");
}

static int add_default_route(struct fail *f, int fd, unsigned index, struct in_addr gateway, struct in_addr source)
{
    struct rtmsg header = {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
                           .rtm_scope = RT_SCOPE_UNIVERSE, .rtm_type = RTN_UNICAST, .rtm_flags = RTNH_F_ONLINK};
    struct netlink_message m;

    netlink_begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &header, sizeof header);
    netlink_put(&m, RTA_GATEWAY, &gateway, sizeof gateway);
    netlink_put(&m, RTA_PREFSRC, &source, sizeof source);
    netlink_put(&m, RTA_OIF, &index, sizeof index);
    return netlink_ask(f, fd, &m, "default route inside");
}

static int set_up_host_end(struct fail *f, const struct cable *cable)
{
    unsigned index = if_nametoindex(cable->link);

    if (index == 0)
        return fail_errno(f, "device %s", cable->link);
    if (set_device(f, "ipv6", cable->link, "disable_ipv6", "1") < 0 ||
        set_device(f, "ipv4", cable->link, "forwarding", "1") < 0 ||
        add_neighbour(f, cable->host, index, cable->outer, inner_mac) < 0 ||
        add_host_route(f, cable->host, index, cable->outer) < 0)
        return -1;
    return nat_map(f, cable->link, cable->outer);
}

static int set_up_inner_end(struct fail *f, const struct cable *cable)
{
    struct addresses inner = {.count = 1};
    struct ifinfomsg up = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct in_addr gateway, source;
    struct netlink_message m;

    if (setns(cable->inner_ns, CLONE_NEWNET) < 0)
        return fail_errno(f, "into the sandbox's network namespace");
    inet_pton(AF_INET, NAT_GATEWAY, &gateway);
    inet_pton(AF_INET, NAT_INNER_ADDRESS, &source);
    inner.list[0] = (struct address){.family = AF_INET, .prefix = 32, .text = NAT_INNER_ADDRESS "/32"};
    memcpy(inner.list[0].bytes, &source, sizeof source);
    up.ifi_index = (int)if_nametoindex(INNER_DEVICE);
    netlink_begin(&m, RTM_NEWLINK, 0, &up, sizeof up);
    if (set_device(f, "ipv6", INNER_DEVICE, "disable_ipv6", "1") < 0 || net_loopback_up(f, &inner) < 0 ||
        netlink_ask(f, cable->inside, &m, INNER_DEVICE " up") < 0 ||
        add_neighbour(f, cable->inside, (unsigned)up.ifi_index, gateway, gateway_mac) < 0)
        return -1;
    return add_default_route(f, cable->inside, (unsigned)up.ifi_index, gateway, source);
}

static int remove_link(struct fail *f, int fd, const char *link)
{
    struct ifinfomsg header = {0};
    struct netlink_message m;

    netlink_begin(&m, RTM_DELLINK, 0, &header, sizeof header);
    netlink_put(&m, IFLA_IFNAME, link, strlen(link) + 1);
    if (netlink_ask(f, fd, &m, "removal of a veth pair") == 0 || strcmp(f->errno_name, "ENODEV") == 0)
        return 0;
    return -1;
}

// Runs in a worker: its descriptors and its namespace end with it.
json_t *veth_attach(struct fail *f, const json_t *request)
{
    struct cable cable;

    if (read_cable(f, request, &cable) < 0 || open_both_sides(f, &cable) < 0 || create(f, &cable) < 0)
        return NULL;
    if (set_up_host_end(f, &cable) < 0 || set_up_inner_end(f, &cable) < 0) {
        struct fail ignored; // the first failure is the one to tell
        setns(cable.home_ns, CLONE_NEWNET);
        remove_link(&ignored, cable.host, cable.link);
        nat_unmap(&ignored, (const char *const[]){cable.link, NULL});
        return NULL;
    }
    return json_object();
}

// The cables themselves go with their sandboxes, in a batch with others; removing one alone would wait for RCU.
json_t *veth_detach(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"names", NULL};
    char **links;
    int result = 0;

    if (request_only(f, request, fields) < 0 || request_strings(f, request, "names", NAT_UNMAP_MAX, &links) < 0)
        return NULL;
    for (char **link = links; result == 0 && *link; link++)
        result = check_link(f, *link);
    if (result == 0)
        result = nat_unmap(f, (const char *const *)links);
    free(links);
    return result == 0 ? json_object() : NULL;
}

int veth_remove_all(struct fail *f)
{
    struct ifinfomsg header = {0};
    struct netlink_message m;
    uint32_t group = GROUP;
    int host = netlink_open(f);

    if (host < 0)
        return -1;
    netlink_begin(&m, RTM_DELLINK, 0, &header, sizeof header);
    netlink_put(&m, IFLA_GROUP, &group, sizeof group);
    int result = netlink_ask(f, host, &m, "removal of all veth pairs");
    close(host);
    return result < 0 && strcmp(f->errno_name, "ENODEV") == 0 ? 0 : result;
}
