// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

// The interpreters that keep state between cells. The texts are built from ../kernel by build.sh.
enum { KERNEL_LANGUAGES = 1 };

struct kernel_source {
	const char *language;
	const char *const *programs; // names to look for in PATH, first one wins
	const char *option, *loader; // how the program is made to read its text from descriptor 4
	const char *text;
	size_t length;
};

extern const struct kernel_source kernel_sources[KERNEL_LANGUAGES];
