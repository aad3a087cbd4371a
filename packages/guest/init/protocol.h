// SPDX-License-Identifier: Apache-2.0
#pragma once

// Frame types and TLV tags. PROTOCOL.md is the text for people, src/protocol.ts the other end.
enum frame_type {
	FRAME_HELLO = 'H',        // init -> client, first: TLVs with the version
	FRAME_REQUEST = 'Q',      // client -> init: the last (or only) part of the request TLVs
	FRAME_REQUEST_PART = 'q', // client -> init: an earlier part
	FRAME_STDIN = 'I',
	FRAME_STDIN_END = 'i',
	FRAME_SIGNAL = 'K',       // client -> init: u32 signal number
	FRAME_DETACH = 'D',
	FRAME_DATA = 'B',         // file bytes, both ways
	FRAME_DATA_END = 'Z',
	FRAME_STARTED = 'S',      // init -> client: exec id, pid
	FRAME_ATTACHED = 'A',     // init -> client: where the streams go on
	FRAME_STDOUT = 'O',
	FRAME_STDERR = 'E',
	FRAME_RESULT = 'X',       // the last frame of an exec
	FRAME_REPLY = 'R',        // the answer of every other operation
	FRAME_FAILURE = 'F',      // code and message; the last frame
};

enum operation {
	OP_EXEC = 1,
	OP_CODE = 2,
	OP_PUT = 3,
	OP_GET = 4,
	OP_IDENTITY = 5,
	OP_ATTACH = 6,
	OP_QUIESCE = 7,
	OP_PING = 8,
};

enum request_tag {
	TAG_VERSION = 1,
	TAG_OPERATION = 2,
	TAG_EXEC_ID = 3,
	TAG_ARGV = 10,
	TAG_SHELL = 11,
	TAG_CODE = 12,
	TAG_LANGUAGE = 13,
	TAG_ENV = 14,
	TAG_CWD = 15,
	TAG_USER = 16,
	TAG_STDIN = 17,
	TAG_TIMEOUT_MS = 18,
	TAG_KILL_ON_DISCONNECT = 19,
	TAG_SEED = 20,
	TAG_PTY = 21, // reserved
	TAG_SETTLE = 22,
	TAG_PATH = 30,
	TAG_MODE = 31,
	TAG_HOSTNAME = 40,
	TAG_SANDBOX_ID = 41,
	TAG_GENERATION = 42,
	TAG_ENTROPY = 43,
	TAG_WAIT_MS = 44,
};

enum answer_tag {
	TAG_EXIT_CODE = 60,
	TAG_SIGNAL = 61,
	TAG_FLAGS = 62,
	TAG_DURATION_US = 63,
	TAG_SEED_ACK = 64,
	TAG_PID = 65,
	TAG_STDOUT_OFFSET = 66,
	TAG_STDERR_OFFSET = 67,
	TAG_STDIN_OFFSET = 68,
	TAG_FAILURE_CODE = 70,
	TAG_MESSAGE = 71,
	TAG_FILE_SIZE = 80,
	TAG_FILE_MODE = 81,
	TAG_UPTIME_MS = 90,
	TAG_EXECS_RUNNING = 91,
	TAG_HANDLERS = 92,
	TAG_KERNEL = 93, // "language pid", one for each living interpreter
	TAG_STILL_CONNECTED = 94,
	TAG_HOSTNAME_SET = 95,
};

enum result_flag {
	RESULT_TIMED_OUT = 1,
	RESULT_CANCELLED = 2,          // ended because the client asked or went away
	RESULT_KILLED_FROM_OUTSIDE = 4, // SIGKILL that was not ours: out of memory, or somebody's kill
	RESULT_INTERPRETER_LOST = 8,   // the interpreter ended; the next cell gets a fresh one
};
