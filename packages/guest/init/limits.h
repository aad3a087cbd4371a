// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every size that a peer can influence is bounded here. PROTOCOL.md states the same figures.
enum {
	PROTOCOL_VERSION = 1,

	FRAME_HEADER = 5,                  // type u8, length u32 LE
	FRAME_PAYLOAD_MAX = 256 * 1024,    // one frame, each way
	REQUEST_MAX = 33 * 1024 * 1024,    // all request frames of one connection together
	OUTPUT_CHUNK = 32 * 1024,          // most bytes of output in one frame

	OUTPUT_ATTACHED = 256 * 1024,      // unsent output kept while a client is there
	OUTPUT_DETACHED = 1024 * 1024,     // ... and while none is; then the command is held back
	STDIN_PENDING = 1024 * 1024,       // input kept for a command that does not read

	ID_MAX = 64,
	ARGV_MAX = 4096,
	ENV_MAX = 1024,
	PATH_BYTES = 4095,

	HANDLERS_MAX = 1024,               // handler processes in all
	CONNECTED_MAX = 512,               // ... of them with a client
	CELL_QUEUE_MAX = 128,              // cells that wait for an interpreter
	TREE_MAX = 8192,                   // processes looked at in one walk

	HANDSHAKE_MS = 10 * 1000,          // for a whole request to arrive
	TRANSFER_IDLE_MS = 60 * 1000,      // a file transfer without a byte
	DETACHED_KEEP_MS = 10 * 60 * 1000, // output and result wait this long for an attach
	LOST_KEEP_MS = 60 * 1000,          // ... when the client vanished without a detach
	CLOSE_GRACE_MS = 2000,             // for a client to close after the result, when it was sending input
	INTERRUPT_GRACE_MS = 1000,         // between SIGINT and SIGKILL for a cell
	TREE_KILL_MS = 3000,               // ending one tree, at the longest
	TREE_AGAIN_MS = 200,               // ... and after this long, again
	TIMEOUT_MS_MAX = 24 * 3600 * 1000,
};
