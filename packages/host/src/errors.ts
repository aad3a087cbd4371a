// SPDX-License-Identifier: Apache-2.0

/** The daemon's own words (hostd/fail.h), and `lost`: the connection to it has ended. */
export const hostErrorCodes = ["bad_request", "not_found", "conflict", "gone", "busy", "deadline", "system", "lost"] as const;
export type HostErrorCode = (typeof hostErrorCodes)[number];

/** Why collimate-hostd did not do what it was asked. */
export class HostError extends Error {
  override readonly name = "HostError";
  readonly code: HostErrorCode;
  /** The kernel's name of the error (`ENOENT`, ...) when a system call failed. */
  readonly errno: string | undefined;
  /** What was asked for: the operation's name, or `dial`. */
  readonly operation: string;

  constructor(operation: string, code: HostErrorCode, message: string, errno?: string, cause?: unknown) {
    super(`${operation}: ${message}`, cause === undefined ? undefined : { cause });
    this.operation = operation;
    this.code = code;
    this.errno = errno;
  }
}
