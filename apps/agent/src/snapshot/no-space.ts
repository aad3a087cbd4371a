// SPDX-License-Identifier: Apache-2.0
/** A disk or tmpfs that was full, as criu, cp, tar or the kernel say it: the operation alone fails, and says so. */
import { CollimateError } from "@collimate/contracts";

const FULL = /ENOSPC|No space left on device|EDQUOT|Disk quota exceeded/;

/** The same error, or `no_space` where that was the cause. */
export function asNoSpace(error: unknown): unknown {
  if (error instanceof CollimateError && error.code === "no_space") return error;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const detail = cause instanceof CollimateError ? (cause.detail ?? "") : "";
    const said = FULL.exec(`${cause.message}\n${detail}`);
    if (!said) continue;
    const what = error instanceof Error ? error.message.split("\n")[0] : "";
    return new CollimateError("no_space", `the node's disk or memory for snapshots is full: ${what}`, {
      cause: error,
      ...(detail ? { detail } : {}),
    });
  }
  return error;
}
