// SPDX-License-Identifier: Apache-2.0
/** Constants of the guest protocol; init/protocol.h and init/limits.h are the other end, PROTOCOL.md the text. */

export const PROTOCOL_VERSION = 1;

/** Largest payload of one frame, in bytes, each way. */
export const FRAME_PAYLOAD_MAX = 256 * 1024;
/** Largest request (all its frames together), in bytes. Code travels in it; files do not. */
export const REQUEST_MAX = 33 * 1024 * 1024;
/** Name of the abstract socket that init listens on, in the sandbox's network namespace (without the leading NUL). */
export const LISTEN_NAME = "collimate-init";

export const Frame = {
  hello: 0x48, // H
  request: 0x51, // Q
  requestPart: 0x71, // q
  stdin: 0x49, // I
  stdinEnd: 0x69, // i
  signal: 0x4b, // K
  detach: 0x44, // D
  data: 0x42, // B
  dataEnd: 0x5a, // Z
  started: 0x53, // S
  attached: 0x41, // A
  stdout: 0x4f, // O
  stderr: 0x45, // E
  result: 0x58, // X
  reply: 0x52, // R
  failure: 0x46, // F
} as const;

export const Operation = { exec: 1, code: 2, put: 3, get: 4, identity: 5, attach: 6, quiesce: 7, ping: 8 } as const;

export const Tag = {
  version: 1,
  operation: 2,
  execId: 3,
  argv: 10,
  shell: 11,
  code: 12,
  language: 13,
  env: 14,
  cwd: 15,
  user: 16,
  stdin: 17,
  timeoutMs: 18,
  killOnDisconnect: 19,
  seed: 20,
  settle: 22,
  path: 30,
  mode: 31,
  hostname: 40,
  sandboxId: 41,
  generation: 42,
  entropy: 43,
  waitMs: 44,
  exitCode: 60,
  signal: 61,
  flags: 62,
  durationUs: 63,
  seedAck: 64,
  pid: 65,
  stdoutOffset: 66,
  stderrOffset: 67,
  stdinOffset: 68,
  failureCode: 70,
  message: 71,
  fileSize: 80,
  fileMode: 81,
  uptimeMs: 90,
  execsRunning: 91,
  handlers: 92,
  kernel: 93,
  stillConnected: 94,
  hostnameSet: 95,
} as const;

export const ResultFlag = { timedOut: 1, cancelled: 2, killedFromOutside: 4, interpreterLost: 8 } as const;
