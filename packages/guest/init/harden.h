// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>

// Takes from this process and all that it will ever start what a sandbox must not have: capabilities beyond a
// short list, new privileges by exec, and the system calls of seccomp.c. False: the kernel refused; errno says why.
bool harden(void);

bool seccomp_install(void);
