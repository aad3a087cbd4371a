// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <unistd.h>

#include "connection.h"
#include "dial.h"
#include "userns.h"
#include "watch.h"
#include "worker.h"

json_t *report_list(struct fail *f, const json_t *request)
{
    (void)f;
    (void)request;
    return json_pack("{s:o, s:o}", "slots", userns_list(), "watches", watch_list());
}

json_t *report_stat(struct fail *f, const json_t *request)
{
    (void)f;
    (void)request;
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "pid", (int)getpid(), "connections", connection_count(),
                     "dials", dial_count(), "workers", worker_count(), "slots", userns_count(), "watches",
                     watch_count());
}
