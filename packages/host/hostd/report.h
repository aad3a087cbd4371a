// SPDX-License-Identifier: Apache-2.0
// What the daemon holds, for leak checks and health.
#pragma once

#include <jansson.h>

#include "fail.h"

json_t *report_list(struct fail *f, const json_t *request);
json_t *report_stat(struct fail *f, const json_t *request);
