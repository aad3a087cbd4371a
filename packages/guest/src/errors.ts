// SPDX-License-Identifier: Apache-2.0
/**
 * Something went wrong between the client and init, or init refused a request. Commands that fail are no errors:
 * they have an exit code.
 *
 * Codes from init: `bad_request`, `too_large`, `too_slow`, `no_memory`, `spawn_failed`, `exec_exists`,
 * `no_such_exec`, `not_found`, `file_error`, `interrupted`. Codes from this client: `protocol` (the other end
 * sent something impossible), `disconnected` (the connection ended too early), `process_killed` (the process inside
 * the sandbox that served the request was killed), `no_answer` (a deadline passed), `input_lost`.
 */
export class GuestError extends Error {
  override readonly name = "GuestError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function protocolError(message: string): GuestError {
  return new GuestError("protocol", `The guest broke its protocol: ${message}`);
}
