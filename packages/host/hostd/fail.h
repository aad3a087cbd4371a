// SPDX-License-Identifier: Apache-2.0
// Why an operation did not happen: a stable code for programs, the kernel's errno name where there is one,
// and one sentence for people (what was tried, on what, what came back).
#pragma once

struct fail {
    const char *code;  // one of the FAIL_* words below
    char errno_name[24]; // "" when no system call failed
    char text[1024];
};

#define FAIL_REQUEST "bad_request"  // the request itself is wrong; asking again changes nothing
#define FAIL_NOT_FOUND "not_found"  // no such slot, key or file
#define FAIL_CONFLICT "conflict"    // the name is taken by something different
#define FAIL_GONE "gone"            // the process has ended (or its pid was used again)
#define FAIL_BUSY "busy"            // a bound was reached; ask again later
#define FAIL_DEADLINE "deadline"    // took longer than the operation may
#define FAIL_SYSTEM "system"        // a system call failed, see errno_name

// Both return -1, so that `return fail(...)` reads well. fail_errno appends errno's text and picks the code from it.
__attribute__((format(printf, 3, 4))) int fail(struct fail *f, const char *code, const char *format, ...);
__attribute__((format(printf, 2, 3))) int fail_errno(struct fail *f, const char *format, ...);
