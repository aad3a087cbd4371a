// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "handlers.h"

// Init's side of the persistent interpreters: one process per language, started at its first cell, one cell at a
// time, the others in a queue. The cell itself (code, output, result) goes between handler and interpreter.
bool kernels_ask(struct handler_ref, const char *language); // false: no such language or too many wait
void kernels_stop_cell(struct handler_ref);
void kernels_sweep(struct handler_ref);
bool kernels_sweeping(void); // then no process may be added: the sweep would take it for a cell's orphan
void kernels_forget(struct handler_ref); // the handler is gone
bool kernels_reaped(pid_t, int status);
size_t kernels_poll(struct pollfd *polls);
void kernels_event(int control);
int64_t kernels_deadline(void); // -1: none
void kernels_advance(void);
pid_t kernels_describe(char *language, size_t size); // the first living interpreter, 0 when there is none
