// SPDX-License-Identifier: Apache-2.0
// The two shapes of an answer: {"id":n,"ok":true,...result} and {"id":n,"ok":false,"code":..,"errno":..,"error":..}.
#pragma once

#include <jansson.h>

#include "fail.h"

json_t *answer_ok(const json_t *request, json_t *result); // consumes result
json_t *answer_failed(const json_t *request, const struct fail *f);
json_t *answer_failed_id(json_int_t id, const struct fail *f);
