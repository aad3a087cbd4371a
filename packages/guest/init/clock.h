// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>
#include <time.h>

// Monotonic time only: CRIU lets it go on from where it stood, so a deadline means the same after a restore.
static inline int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t now_ms(void)
{
	return now_us() / 1000;
}
