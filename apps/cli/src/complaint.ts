// SPDX-License-Identifier: Apache-2.0

/** An error that a person can act on: shown without a stack. */
export class Complaint extends Error {
  override readonly name = "Complaint";
  readonly hint: string | undefined;
  readonly exitCode: number;
  constructor(message: string, options: { hint?: string; exitCode?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}
