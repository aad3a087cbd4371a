// SPDX-License-Identifier: Apache-2.0
// The one thread's event loop: file descriptors and deadlines.
#pragma once

#include <stdint.h>

struct source {
    int fd;
    void (*ready)(struct source *self, uint32_t events); // may free self after loop_remove()
};

struct deadline {
    int64_t at_ms; // on loop_now_ms()'s clock
    void (*expired)(struct deadline *self);
    struct deadline *next, *previous;
};

int loop_init(void);
int loop_add(struct source *source, uint32_t events);
int loop_change(struct source *source, uint32_t events);
void loop_remove(struct source *source);

void loop_arm(struct deadline *deadline, int64_t after_ms);
void loop_disarm(struct deadline *deadline); // also right for one that is not armed

int64_t loop_now_ms(void); // CLOCK_MONOTONIC
void loop_run(void);       // until loop_stop()
void loop_stop(void);
