// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int request_only(struct fail *f, const json_t *request, const char *const names[])
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)request, key, value)
    {
        bool known = strcmp(key, "id") == 0 || strcmp(key, "op") == 0;
        for (size_t i = 0; !known && names[i]; i++)
            known = strcmp(key, names[i]) == 0;
        if (!known)
            return fail(f, FAIL_REQUEST, "field \"%.64s\" is not part of this operation", key);
    }
    return 0;
}

static int missing(struct fail *f, const char *name)
{
    return fail(f, FAIL_REQUEST, "field \"%s\" is missing", name);
}

int request_string(struct fail *f, const json_t *request, const char *name, size_t longest, const char **value)
{
    const json_t *field = json_object_get(request, name);

    if (!field)
        return *value ? 0 : missing(f, name);
    if (!json_is_string(field))
        return fail(f, FAIL_REQUEST, "field \"%s\" must be a string", name);
    if (json_string_length(field) == 0 || json_string_length(field) > longest)
        return fail(f, FAIL_REQUEST, "field \"%s\" must have 1 to %zu bytes", name, longest);
    *value = json_string_value(field);
    return 0;
}

int request_path(struct fail *f, const json_t *request, const char *name, const char **value)
{
    *value = NULL;
    if (request_string(f, request, name, PATH_MAX - 1, value) < 0)
        return -1;
    if ((*value)[0] != '/')
        return fail(f, FAIL_REQUEST, "field \"%s\" must be an absolute path", name);
    return 0;
}

#define INNER_ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/"

static bool climbs(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
    }
    return false;
}

int request_inner(struct fail *f, const json_t *request, const char *name, const char **value)
{
    *value = NULL;
    if (request_string(f, request, name, NAME_MAX, value) < 0)
        return -1;
    // A narrow alphabet, for mount options know commas, colons and backslashes as marks of their own.
    if ((*value)[0] == '/' || climbs(*value) || (*value)[strspn(*value, INNER_ALPHABET)] != '\0')
        return fail(f, FAIL_REQUEST, "field \"%s\" must be a relative path of A-Z a-z 0-9 . _ - without \"..\"", name);
    return 0;
}

int request_integer(struct fail *f, const json_t *request, const char *name, int64_t least, int64_t most,
                    int64_t *value)
{
    const json_t *field = json_object_get(request, name);

    if (!field)
        return *value >= least ? 0 : missing(f, name);
    if (!json_is_integer(field) || json_integer_value(field) < least || json_integer_value(field) > most)
        return fail(f, FAIL_REQUEST, "field \"%s\" must be a whole number from %lld to %lld", name, (long long)least,
                    (long long)most);
    *value = json_integer_value(field);
    return 0;
}

int request_flag(struct fail *f, const json_t *request, const char *name, bool *value)
{
    const json_t *field = json_object_get(request, name);

    if (!field)
        return 0;
    if (!json_is_boolean(field))
        return fail(f, FAIL_REQUEST, "field \"%s\" must be true or false", name);
    *value = json_is_true(field);
    return 0;
}

int request_strings(struct fail *f, const json_t *request, const char *name, size_t most, char ***values)
{
    json_t *list = json_object_get(request, name);
    size_t count = 0, index;
    json_t *item;

    if (list) {
        if (!json_is_array(list) || json_array_size(list) > most)
            return fail(f, FAIL_REQUEST, "field \"%s\" must be a list of at most %zu strings", name, most);
        count = json_array_size(list);
    }
    char **strings = calloc(count + 1, sizeof *strings);
    if (!strings)
        return fail_errno(f, "no memory for field \"%s\"", name);
    json_array_foreach(list, index, item)
    {
        if (!json_is_string(item)) {
            free(strings);
            return fail(f, FAIL_REQUEST, "field \"%s\" must hold only strings", name);
        }
        strings[index] = (char *)json_string_value(item);
    }
    *values = strings;
    return 0;
}

int request_process(struct fail *f, const json_t *request, bool start_time_required, struct process_name *process)
{
    int64_t pid = -1, start_time = start_time_required ? 0 : 1;

    if (request_integer(f, request, "pid", 1, INT_MAX, &pid) < 0 ||
        request_integer(f, request, "start_time", 1, INT64_MAX, &start_time) < 0)
        return -1;
    process->pid = (pid_t)pid;
    process->start_time = json_object_get(request, "start_time") ? (uint64_t)start_time : 0;
    return 0;
}
