// SPDX-License-Identifier: Apache-2.0
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netlink.h"
#include "process.h"
#include "request.h"

#define LOOPBACK_INDEX 1 // in every network namespace (net/core/dev.c: the loopback device is registered first)

static int parse_address(struct fail *f, const char *text, struct address *address)
{
    char host[INET6_ADDRSTRLEN + 1];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    char *end;

    if (length > 0 && length < sizeof host) {
        memcpy(host, text, length);
        host[length] = '\0';
        address->family = strchr(host, ':') ? AF_INET6 : AF_INET;
        unsigned long prefix = strtoul(slash + 1, &end, 10);
        if (slash[1] >= '0' && slash[1] <= '9' && *end == '\0' && prefix <= (address->family == AF_INET ? 32 : 128) &&
            inet_pton(address->family, host, address->bytes) == 1) {
            address->prefix = (uint8_t)prefix;
            snprintf(address->text, sizeof address->text, "%s", text);
            return 0;
        }
    }
    return fail(f, FAIL_REQUEST, "address \"%.64s\" must be like 10.0.0.2/32 or fd00::2/128", text);
}

int net_read_addresses(struct fail *f, const json_t *request, const char *field, struct addresses *addresses)
{
    char **texts;
    int result = 0;

    addresses->count = 0;
    if (request_strings(f, request, field, ADDRESSES_MAX, &texts) < 0)
        return -1;
    for (char **text = texts; result == 0 && *text; text++)
        result = parse_address(f, *text, &addresses->list[addresses->count++]);
    free(texts);
    return result;
}

static int loopback_flag_up(struct fail *f, int fd)
{
    struct ifinfomsg link = {.ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct netlink_message message;

    netlink_begin(&message, RTM_NEWLINK, 0, &link, sizeof link);
    return netlink_ask(f, fd, &message, "loopback up");
}

static int add_address(struct fail *f, int fd, const struct address *address)
{
    struct ifaddrmsg header = {.ifa_family = (uint8_t)address->family,
                               .ifa_prefixlen = address->prefix,
                               .ifa_flags = IFA_F_PERMANENT | (address->family == AF_INET6 ? IFA_F_NODAD : 0),
                               .ifa_index = LOOPBACK_INDEX};
    size_t bytes = address->family == AF_INET ? 4 : 16;
    struct netlink_message message;
    char what[96];

    netlink_begin(&message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &header, sizeof header);
    netlink_put(&message, IFA_LOCAL, address->bytes, bytes);
    netlink_put(&message, IFA_ADDRESS, address->bytes, bytes);
    snprintf(what, sizeof what, "address %s on loopback", address->text);
    return netlink_ask(f, fd, &message, what);
}

int net_loopback_up(struct fail *f, const struct addresses *addresses)
{
    int fd = netlink_open(f);
    int result = fd < 0 ? -1 : loopback_flag_up(f, fd);

    for (size_t i = 0; result == 0 && i < addresses->count; i++)
        result = add_address(f, fd, &addresses->list[i]);
    if (fd >= 0)
        close(fd);
    return result;
}

// /proc/sys/net shows the namespace of whoever opens it.
static int set_one(struct fail *f, int proc_fd, const char *path, bool must_exist)
{
    int fd = openat(proc_fd, path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT && !must_exist)
        return 0;
    if (fd < 0)
        return fail_errno(f, "open of /proc/%s", path);
    int result = write(fd, "1", 1) == 1 ? 0 : fail_errno(f, "write to /proc/%s", path);
    close(fd);
    return result;
}

int net_allow_nonlocal_bind(struct fail *f, int proc_fd)
{
    if (set_one(f, proc_fd, "sys/net/ipv4/ip_nonlocal_bind", true) < 0)
        return -1;
    return set_one(f, proc_fd, "sys/net/ipv6/ip_nonlocal_bind", false); // absent when the kernel has no IPv6
}

int net_enter(struct fail *f, pid_t pid, uint64_t start_time)
{
    int pidfd = process_open(f, pid, start_time);

    if (pidfd < 0)
        return -1;
    int result = setns(pidfd, CLONE_NEWNET); // with a pidfd since Linux 5.8: that very process's namespace
    if (result < 0 && errno == ESRCH)
        fail(f, FAIL_GONE, "process %d has ended", (int)pid);
    else if (result < 0)
        fail_errno(f, "setns into the network namespace of process %d", (int)pid);
    close(pidfd);
    return result;
}

json_t *net_setup(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"pid", "start_time", "addrs", NULL};
    struct process_name process;
    struct addresses addresses;
    int proc_fd;

    if (request_only(f, request, fields) < 0 || request_process(f, request, true, &process) < 0 ||
        net_read_addresses(f, request, "addrs", &addresses) < 0 || net_enter(f, process.pid, process.start_time) < 0)
        return NULL;
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc_fd < 0) {
        fail_errno(f, "open of /proc");
        return NULL;
    }
    int result = net_allow_nonlocal_bind(f, proc_fd);
    close(proc_fd);
    if (result < 0 || net_loopback_up(f, &addresses) < 0)
        return NULL;
    return json_object();
}
