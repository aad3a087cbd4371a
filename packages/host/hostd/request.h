// SPDX-License-Identifier: Apache-2.0
// Reading fields of a request. Everything is checked here, at the edge: types, ranges, absolute paths.
// Each returns 0, or -1 with the failure naming the field. An absent optional field leaves *value as it was.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fail.h"

// Refuses fields that no one reads, so that a misspelt option is an error, not a default.
int request_only(struct fail *f, const json_t *request, const char *const names[]);

int request_string(struct fail *f, const json_t *request, const char *name, size_t longest, const char **value);
int request_path(struct fail *f, const json_t *request, const char *name, const char **value);  // absolute
int request_inner(struct fail *f, const json_t *request, const char *name, const char **value); // relative, no ".."
int request_integer(struct fail *f, const json_t *request, const char *name, int64_t least, int64_t most,
                    int64_t *value);
int request_flag(struct fail *f, const json_t *request, const char *name, bool *value); // optional

// A NULL-ended array of the strings, borrowed from the request; the array is the caller's to free.
// An absent field is an empty list.
int request_strings(struct fail *f, const json_t *request, const char *name, size_t most, char ***values);

// {"pid": N, "start_time": T}: the process a request speaks of.
struct process_name {
    pid_t pid;
    uint64_t start_time; // 0: not given
};
int request_process(struct fail *f, const json_t *request, bool start_time_required, struct process_name *process);
