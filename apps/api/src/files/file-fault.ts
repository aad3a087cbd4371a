// SPDX-License-Identifier: Apache-2.0
import { CollimateError } from "@collimate/contracts";

/** Something is wrong with the named file, not with the sandbox: clients can tell by `path` in the body. */
export class FileFault extends CollimateError {
  readonly path: string;
  constructor(error: CollimateError, path: string) {
    super(error.code, error.message, { cause: error, ...(error.detail ? { detail: error.detail } : {}) });
    this.path = path;
  }
}
