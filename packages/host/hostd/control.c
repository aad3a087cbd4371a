// SPDX-License-Identifier: Apache-2.0
// Requests of a control connection: one JSON object a line, answered by one line that carries the same id.
#include <string.h>

#include "answer.h"
#include "boot.h"
#include "connection.h"
#include "dial.h"
#include "nat.h"
#include "net.h"
#include "overlay.h"
#include "random.h"
#include "report.h"
#include "userns.h"
#include "veth.h"
#include "watch.h"
#include "worker.h"

// An operation runs on the loop (it only touches tables), or in a worker with a deadline; or it answers later by itself.
struct entry {
    const char *name;
    operation *in_worker;
    int deadline_ms;
    operation *on_loop;
    json_t *(*with_client)(struct fail *f, struct connection *client, const json_t *request);
    int (*later)(struct fail *f, struct connection *client, const json_t *request);
};

static const struct entry operations[] = {
    {"userns.create", .on_loop = userns_create},
    {"userns.drop", .on_loop = userns_drop},
    {"overlay.mount", .in_worker = overlay_mount, .deadline_ms = 30000},
    {"umount", .in_worker = overlay_umount, .deadline_ms = 60000},
    {"dial", .later = dial_start},
    {"boot", .in_worker = boot, .deadline_ms = 20000},
    {"watch", .with_client = watch_start},
    {"unwatch", .with_client = watch_stop},
    {"kill", .on_loop = watch_kill},
    {"net.setup", .in_worker = net_setup, .deadline_ms = 10000},
    {"net.init", .in_worker = nat_init, .deadline_ms = 15000},
    {"net.fini", .in_worker = nat_fini, .deadline_ms = 15000},
    {"net.sweep", .in_worker = nat_sweep, .deadline_ms = 15000},
    {"net.attach", .in_worker = veth_attach, .deadline_ms = 15000},
    {"net.detach", .in_worker = veth_detach, .deadline_ms = 15000},
    {"random.reseed", .on_loop = random_reseed},
    {"list", .on_loop = report_list},
    {"stat", .on_loop = report_stat},
};

static const struct entry *find(const char *name)
{
    for (size_t i = 0; name && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

static void refuse(struct connection *client, const json_t *request, const struct fail *f)
{
    json_t *answer = answer_failed(request, f);

    connection_send(client, answer);
    json_decref(answer);
}

static void dispatch(struct connection *client, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "op"));
    const struct entry *entry = find(name);
    struct fail f = {0};
    json_t *result;

    if (!entry) {
        fail(&f, FAIL_REQUEST, "there is no operation \"%.64s\"", name ? name : "");
        refuse(client, request, &f);
        return;
    }
    if (entry->in_worker) {
        if (worker_start(&f, client, request, entry->in_worker, entry->deadline_ms) < 0)
            refuse(client, request, &f);
        return;
    }
    if (entry->later) {
        if (entry->later(&f, client, request) < 0)
            refuse(client, request, &f);
        return;
    }
    result = entry->on_loop ? entry->on_loop(&f, request) : entry->with_client(&f, client, request);
    if (!result) {
        refuse(client, request, &f);
        return;
    }
    json_t *answer = answer_ok(request, result);
    connection_send(client, answer);
    json_decref(answer);
}

void control_line(struct connection *client, const char *line, size_t bytes)
{
    json_error_t error;
    json_t *request = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    struct fail f = {0};

    if (json_is_integer(json_object_get(request, "id"))) {
        dispatch(client, request);
    } else {
        // Who sends this is not one of our clients: say why, then hang up.
        fail(&f, FAIL_REQUEST, "a request must be one JSON object with a whole-number \"id\" on one line%s%s",
             request ? "" : ": ", request ? "" : error.text);
        refuse(client, NULL, &f);
        client->closing = true;
    }
    json_decref(request);
}

void control_closed(struct connection *client)
{
    worker_client_gone(client);
    dial_client_gone(client);
    watch_client_gone(client);
}
