// SPDX-License-Identifier: Apache-2.0
#include "kernel_sources.h"
#include "python_kernel.inc" // generated: static const char python_kernel[]

static const char *const python_programs[] = {"python3", "python", NULL};

#define PYTHON_LOADER \
	"import os\n" \
	"with os.fdopen(4) as file: text = file.read()\n" \
	"exec(compile(text, '<collimate-kernel>', 'exec'), {'__name__': 'collimate_kernel'})\n"

const struct kernel_source kernel_sources[KERNEL_LANGUAGES] = {
	{"python", python_programs, "-c", PYTHON_LOADER, python_kernel, sizeof python_kernel},
};
