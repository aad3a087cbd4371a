// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "limits.h"
#include <stdbool.h>
#include <stdint.h>

// What init and its handler processes tell each other, over one SEQPACKET pair per handler.
enum control_kind {
	// handler -> init
	CONTROL_REGISTER = 1, // id: this handler runs the exec of that name. Answer: OK or REFUSED
	CONTROL_DETACHED,     // no outside connection is open in this handler any more
	CONTROL_ATTACH,       // id, fd: hand this connection to that exec. Answer: OK or REFUSED
	CONTROL_QUIESCE,      // millis: have every handler detach. Answer: QUIESCED
	CONTROL_CELL,         // language: a turn on the interpreter. Answer: GO or REFUSED
	CONTROL_CELL_STOP,    // interrupt my cell, or take it out of the queue (answer then: CELL_DROPPED)
	CONTROL_CELL_SWEEP,   // end what the cell has started. Answer: CELL_SWEPT
	CONTROL_IDENTITY,     // sandbox, generation, entropy
	CONTROL_DONE,         // output and result are told or given up: the id is free again
	CONTROL_INFO,         // Answer: OK with counts

	// init -> handler
	CONTROL_OK,
	CONTROL_REFUSED,
	CONTROL_DETACH,       // close your connection, within millis
	CONTROL_TAKE,         // fd: the connection of a client that attaches to you
	CONTROL_DISCARD,      // this sandbox is another one now: nobody will fetch your output
	CONTROL_GO,           // fd: your turn; pid: the interpreter
	CONTROL_CELL_GONE,    // value: wait status of the interpreter that ended in your cell
	CONTROL_CELL_DROPPED,
	CONTROL_CELL_SWEPT,
	CONTROL_QUIESCED,     // value: connections still open
};

struct control {
	uint32_t kind;
	int32_t value;
	uint32_t generation;
	uint32_t millis;
	int32_t pid;
	uint32_t handlers, execs;
	char id[ID_MAX + 1];
	char sandbox[ID_MAX + 1];
	char language[16];
	uint8_t entropy[32];
};

bool control_pair(int pair[2]);
bool control_send(int fd, const struct control *, int passed_fd); // never blocks; passed_fd may be -1
// 1: one message (passed_fd is -1 when none came); 0: nothing there; -1: the other end is gone.
int control_receive(int fd, struct control *, int *passed_fd);
