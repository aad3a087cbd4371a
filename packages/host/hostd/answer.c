// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

json_t *answer_ok(const json_t *request, json_t *result)
{
    json_object_set(result, "id", json_object_get(request, "id"));
    json_object_set_new(result, "ok", json_true());
    return result;
}

json_t *answer_failed_id(json_int_t id, const struct fail *f)
{
    // The text may quote kernel messages or paths, whose bytes need not be UTF-8.
    json_t *text = json_string(f->text);
    json_t *answer = json_pack("{s:I, s:b, s:s, s:o}", "id", id, "ok", 0, "code", f->code, "error",
                               text ? text : json_string("(the reason is not valid UTF-8)"));

    if (answer && f->errno_name[0])
        json_object_set_new(answer, "errno", json_string(f->errno_name));
    return answer;
}

json_t *answer_failed(const json_t *request, const struct fail *f)
{
    return answer_failed_id(json_integer_value(json_object_get(request, "id")), f);
}
