// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "job.h"

// The job's side towards the client, who may send input and signals, detach, vanish and come back.
bool client_may_speak(const struct job *); // there is room for what it may send
void client_readable(struct job *, short events);
void client_go_on(struct job *); // after room was made: takes frames that had to wait
void client_closing(struct job *); // the connection that is being closed can be read, or its time is over
void client_gone(struct job *);
void client_control(struct job *); // messages of init
void job_discard(struct job *);
