// SPDX-License-Identifier: Apache-2.0
#include "nat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"
#include "process.h"
#include "request.h"
#include "veth.h"

// Made so that loading it again keeps the map's elements: a new agent must not cut off sandboxes that live on.
// Sandboxes may talk to what lies behind the uplink, less private ranges, other sandboxes, metadata services and this
// host. "%1$s" is the uplink, "%2$s" the elements of `opened`, "%3$s" the rule for names. Resets make a refused TCP
// connection fail at once.
static const char ruleset[] =
    "add table ip collimate\n"
    "add map ip collimate outer { type ifname : ipv4_addr; }\n"
    "add set ip collimate closed { type ipv4_addr; flags interval; }\n"
    "add set ip collimate opened { type ipv4_addr; flags interval; auto-merge; }\n"
    "flush table ip collimate\n"
    "flush set ip collimate closed\n"
    "flush set ip collimate opened\n"
    "%2$s"
    "table ip collimate {\n"
    "  set closed { type ipv4_addr; flags interval; elements = {\n"
    "    0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24,\n"
    "    192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/3 } }\n"
    "  chain translate_in { type filter hook prerouting priority raw; policy accept;\n"
    "    iifname != \"" NAT_LINK_PREFIX "*\" accept\n"
    "    ip saddr != " NAT_INNER_ADDRESS " drop\n"
    "    ip saddr set iifname map @outer\n"
    "    ip saddr " NAT_INNER_ADDRESS " drop\n"
    "  }\n"
    "  chain resolve { type nat hook prerouting priority dstnat; policy accept;\n"
    "%3$s"
    "  }\n"
    "  chain input { type filter hook input priority filter - 10; policy accept;\n"
    "    iifname != \"" NAT_LINK_PREFIX "*\" accept\n"
    "    ct status dnat ct original ip daddr " NAT_GATEWAY " accept\n"
    "    meta l4proto tcp reject with tcp reset\n"
    "    drop\n"
    "  }\n"
    "  chain egress {\n"
    "    ct status dnat ct original ip daddr " NAT_GATEWAY " accept\n"
    "    oifname != \"%1$s\" meta l4proto tcp reject with tcp reset\n"
    "    oifname != \"%1$s\" drop\n"
    "    tcp flags syn tcp option maxseg size set rt mtu\n"
    "    ip daddr @opened accept\n"
    "    ip daddr @closed meta l4proto tcp reject with tcp reset\n"
    "    ip daddr @closed drop\n"
    "    accept\n"
    "  }\n"
    "  chain forward { type filter hook forward priority filter - 10; policy accept;\n"
    "    iifname \"" NAT_LINK_PREFIX "*\" jump egress\n"
    "    oifname != \"" NAT_LINK_PREFIX "*\" accept\n"
    "    ct state established,related accept\n"
    "    drop\n"
    "  }\n"
    "  chain leave { type nat hook postrouting priority srcnat; policy accept;\n"
    "    oifname \"%1$s\" ip saddr 100.64.0.0/10 masquerade\n"
    "  }\n"
    "  chain translate_out { type filter hook postrouting priority 350; policy accept;\n"
    "    oifname \"" NAT_LINK_PREFIX "*\" ip daddr 100.64.0.0/10 ip daddr set " NAT_INNER_ADDRESS "\n"
    "  }\n"
    "}\n";

static _Noreturn void become_nft(pid_t parent, int input, int errors)
{
    process_begin_child(parent);
    if (dup2(input, 0) < 0 || dup2(errors, 1) < 0 || dup2(errors, 2) < 0)
        _exit(126);
    execlp("nft", "nft", "-f", "-", NULL);
    dprintf(2, "nft cannot be run: %s", strerror(errno));
    _exit(127);
}

// The output, cut to the buffer; all of it is read, so that nft never waits for us.
static void read_all(int fd, char *buffer, size_t size)
{
    char rest[512];
    size_t used = 0;
    ssize_t got;

    while ((got = used < size - 1 ? read(fd, buffer + used, size - 1 - used) : read(fd, rest, sizeof rest)) > 0)
        if (used < size - 1)
            used += (size_t)got;
    buffer[used] = '\0';
}

// Runs in a worker, whose deadline bounds it.
static int run_nft(struct fail *f, const char *script)
{
    int input[2], errors[2], status;
    char said[400];
    pid_t parent = getpid();

    if (pipe2(input, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
        return fail_errno(f, "pipe to nft");
    pid_t pid = fork();
    if (pid < 0)
        return fail_errno(f, "fork of nft");
    if (pid == 0)
        become_nft(parent, input[0], errors[1]);
    close(input[0]);
    close(errors[1]);
    bool sent = write(input[1], script, strlen(script)) == (ssize_t)strlen(script); // less than a pipe holds
    close(input[1]);
    read_all(errors[0], said, sizeof said);
    close(errors[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (sent && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return fail(f, FAIL_SYSTEM, "nft refused the rules: %s", said);
}

// The device of the default route with the smallest metric (/proc/net/route: hexadecimal, one route a line).
static int find_uplink(struct fail *f, char uplink[IF_NAMESIZE])
{
    FILE *routes = fopen("/proc/net/route", "re");
    char line[256], device[IF_NAMESIZE];
    unsigned destination, mask, metric, best = ~0U;

    uplink[0] = '\0';
    while (routes && fgets(line, sizeof line, routes))
        if (sscanf(line, "%15s %8x %*8x %*x %*d %*d %u %8x", device, &destination, &metric, &mask) == 4 &&
            destination == 0 && mask == 0 && metric < best) {
            best = metric;
            strcpy(uplink, device);
        }
    if (routes)
        fclose(routes);
    if (!uplink[0])
        return fail(f, FAIL_NOT_FOUND, "this host has no default route: name the uplink");
    return 0;
}

// A device's name goes into rules and paths: letters, digits, dots, dashes and underscores only.
static int check_device(struct fail *f, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    if (name[0] == '.' || name[strspn(name, plain)] != '\0')
        return fail(f, FAIL_REQUEST, "\"%s\" cannot be the uplink: its name holds odd characters", name);
    if (if_nametoindex(name) == 0)
        return fail(f, FAIL_NOT_FOUND, "there is no network device \"%s\"", name);
    return 0;
}

// Of the uplink alone (for what comes back in), not of the whole host. *before tells what to restore.
static int set_forwarding(struct fail *f, const char *device, bool on, bool *before)
{
    char path[96], value = on ? '1' : '0', was;

    snprintf(path, sizeof path, "/proc/sys/net/ipv4/conf/%s/forwarding", device);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(f, "open of %s", path);
    bool done = read(fd, &was, 1) == 1 && pwrite(fd, &value, 1, 0) == 1;
    int result = done ? 0 : fail_errno(f, "write of %c to %s", value, path);
    close(fd);
    *before = was == '1';
    return result;
}

// The command that fills `opened`; empty when nothing is.
static int write_opened(struct fail *f, const json_t *request, char *script, size_t size)
{
    struct addresses open;
    size_t used = 0;

    script[0] = '\0';
    if (net_read_addresses(f, request, "open", &open) < 0)
        return -1;
    for (size_t i = 0; i < open.count; i++) {
        const struct address *range = &open.list[i];
        char text[INET_ADDRSTRLEN];

        if (range->family != AF_INET)
            return fail(f, FAIL_REQUEST, "\"%s\" cannot be opened: sandboxes have IPv4 only", range->text);
        inet_ntop(AF_INET, range->bytes, text, sizeof text);
        used += (size_t)snprintf(script + used, size - used, "%s%s/%u", i ? ", " : "add element ip collimate opened { ",
                                 text, range->prefix);
    }
    if (used)
        snprintf(script + used, size - used, " }\n");
    return 0;
}

// Names are asked for at the gateway, and answered by a resolver of the operator's.
static int write_resolve(struct fail *f, const json_t *request, char *rule, size_t size)
{
    const char *resolver = "";
    char text[INET_ADDRSTRLEN];
    struct in_addr address;

    rule[0] = '\0';
    if (request_string(f, request, "resolver", INET_ADDRSTRLEN, &resolver) < 0)
        return -1;
    if (!resolver[0])
        return 0;
    if (inet_pton(AF_INET, resolver, &address) != 1)
        return fail(f, FAIL_REQUEST, "field \"resolver\" must be an IPv4 address");
    inet_ntop(AF_INET, &address, text, sizeof text);
    snprintf(rule, size,
             "    iifname \"" NAT_LINK_PREFIX "*\" ip daddr " NAT_GATEWAY " meta l4proto { tcp, udp } th dport 53 dnat to %s\n",
             text);
    return 0;
}

json_t *nat_init(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"uplink", "open", "resolver", NULL};
    char found[IF_NAMESIZE], opened[64 + ADDRESSES_MAX * (INET_ADDRSTRLEN + 5)], resolve[160 + INET_ADDRSTRLEN];
    char script[sizeof ruleset + 3 * IF_NAMESIZE + sizeof opened + sizeof resolve];
    const char *uplink = "";
    bool before;

    if (request_only(f, request, fields) < 0 || request_string(f, request, "uplink", IF_NAMESIZE - 1, &uplink) < 0 ||
        write_opened(f, request, opened, sizeof opened) < 0 || write_resolve(f, request, resolve, sizeof resolve) < 0)
        return NULL;
    if (!uplink[0]) {
        if (find_uplink(f, found) < 0)
            return NULL;
        uplink = found;
    }
    if (check_device(f, uplink) < 0)
        return NULL;
    snprintf(script, sizeof script, ruleset, uplink, opened, resolve);
    if (run_nft(f, script) < 0 || set_forwarding(f, uplink, true, &before) < 0)
        return NULL;
    return json_pack("{s:s, s:b}", "uplink", uplink, "forwarding_was", before);
}

static int drop_table(struct fail *f)
{
    // Added first, so that the deletion is right also when there is none.
    return run_nft(f, "add table ip collimate\ndelete table ip collimate\n");
}

json_t *nat_sweep(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {NULL};

    if (request_only(f, request, fields) < 0 || veth_remove_all(f) < 0 || drop_table(f) < 0)
        return NULL;
    return json_object();
}

json_t *nat_fini(struct fail *f, const json_t *request)
{
    static const char *const fields[] = {"uplink", "forwarding", NULL};
    const char *uplink = NULL;
    bool forwarding = true, before;

    if (request_only(f, request, fields) < 0 || request_string(f, request, "uplink", IF_NAMESIZE - 1, &uplink) < 0 ||
        request_flag(f, request, "forwarding", &forwarding) < 0 || check_device(f, uplink) < 0)
        return NULL;
    if (drop_table(f) < 0)
        return NULL;
    if (!forwarding && set_forwarding(f, uplink, false, &before) < 0)
        return NULL;
    return json_object();
}
