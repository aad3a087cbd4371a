// SPDX-License-Identifier: Apache-2.0

/** What went wrong, in a form that a caller can decide by. */
export type CriuErrorCode =
  /** criu ended with an error; `log` says which. */
  | "failed"
  /** criu or the holder did not end within its time limit and was killed. */
  | "timeout"
  /** The program could not be started at all. */
  | "not-started"
  /** The holder is not there any more, or broke the connection off. */
  | "holder-gone"
  /** The holder has refused the request, or answered something that is not its protocol. */
  | "protocol"
  /** The cgroup could not be frozen or thawed within its time limit. */
  | "freezer"
  /** The caller's own signal. */
  | "aborted";

export class CriuError extends Error {
  override readonly name = "CriuError";
  readonly code: CriuErrorCode;
  /** The last meaningful lines of criu's log, newest last; may be empty. */
  readonly log: readonly string[];
  /**
   * True when criu was killed while it may have had its code in the tasks: they
   * can't be trusted to run on and should be ended.
   */
  readonly treeDamaged: boolean;

  constructor(code: CriuErrorCode, message: string, options: { log?: readonly string[]; treeDamaged?: boolean; cause?: unknown } = {}) {
    const log = options.log ?? [];
    super(log.length > 0 ? `${message}\n${log.map((line) => `  ${line}`).join("\n")}` : message, {
      cause: options.cause,
    });
    this.code = code;
    this.log = log;
    this.treeDamaged = options.treeDamaged ?? false;
  }
}
