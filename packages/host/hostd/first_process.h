// SPDX-License-Identifier: Apache-2.0
// What PID 1 of a new sandbox does between clone and execve. Its working directory is the root to be.
#pragma once

#include <stdint.h>

#include "net.h"

struct first_process {
    const char *hostname;
    char **argv, **env;
    struct addresses addresses;
};

// What a first process reports when it cannot become its program; as a clone of its maker it may send pointers to
// constants. Nothing is reported at success: execve closes the pipe.
struct stage_failure {
    struct fail fail;
};

// `go` gives one byte once the maps are written; an end instead means that the maker has died. Never returns.
_Noreturn void first_process_run(const struct first_process *plan, int go, int failures);
