// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "handler.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// A command or a cell, seen from its handler: two pipes to drain, a result to wait for, a client that may come and go.
enum job_phase {
	JOB_RUNNING,
	JOB_DRAINING,  // it ended: what lay in its pipes at that moment still goes out
	JOB_REPORTING, // the result is queued behind the output
	JOB_LINGERING, // all told; stays for what it left running, whose pipes it empties and whose dead it reaps
};

struct job {
	struct handler *handler;
	enum job_phase phase;
	int out, err, in;         // our ends of its pipes; -1: closed
	size_t out_left, err_left; // while draining
	uint8_t *input;           // stdin that the command has not taken yet
	size_t input_start, input_end;
	bool input_ended;
	uint64_t input_total;     // stdin bytes ever taken from a client
	bool discard;             // nobody will ever fetch the output
	int64_t close_by;         // -1: no; the result is out, a client that was still sending input may finish
	int closing;              // a connection that we write no more to, until its client has closed; -1: none
	int64_t closing_by;
	int64_t detached_until;   // -1: a client is here
	int64_t deadline;         // -1: no time limit

	bool stopping;            // we are ending it, for the reason in flags
	bool tree_left;           // the end of its tree took too long; again at kill_again
	int64_t kill_again;
	uint32_t flags;           // enum result_flag
	int64_t started_us, duration_us;
	pid_t pid;                // the command, or the interpreter
	int exit_code, signal;
	const char *seed_ack;
	const char *note;         // said on its stderr, behind its own output

	bool is_cell;
	int cell;                 // socket to the interpreter; -1: not our turn yet, or over
	int cell_out, cell_err;   // the interpreter's ends, until it has begun with the cell
	bool begun, answered;
	int turns;                // how often we were given one
};

struct control;

void job_started(struct job *);               // queues the STARTED frame
void job_ended(struct job *);                 // exit_code, signal and flags are set
void job_stop(struct job *, uint32_t reason);  // time limit, cancel

bool exec_start(struct job *);
void exec_reap(struct job *);
void exec_stop(struct job *);
void exec_signal(struct job *, int signal);

bool cell_start(struct job *);
void cell_control(struct job *, const struct control *, int passed_fd);
void cell_readable(struct job *);
void cell_stop(struct job *);

void job_loop(struct job *);
