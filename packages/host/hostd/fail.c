// SPDX-License-Identifier: Apache-2.0
#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail(struct fail *f, const char *code, const char *format, ...)
{
    va_list args;

    f->code = code;
    f->errno_name[0] = '\0';
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return -1;
}

static const char *code_of(int error)
{
    switch (error) {
    case ESRCH: return FAIL_GONE;
    case ENOENT: return FAIL_NOT_FOUND;
    case EEXIST: return FAIL_CONFLICT;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOSPC: return FAIL_BUSY;
    case ETIMEDOUT: return FAIL_DEADLINE;
    default: return FAIL_SYSTEM;
    }
}

int fail_errno(struct fail *f, const char *format, ...)
{
    int error = errno;
    const char *name = strerrorname_np(error);
    va_list args;

    f->code = code_of(error);
    snprintf(f->errno_name, sizeof f->errno_name, "%s", name ? name : "?");
    va_start(args, format);
    int used = vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof f->text)
        snprintf(f->text + used, sizeof f->text - (size_t)used, ": %s", strerror(error));
    return -1;
}
