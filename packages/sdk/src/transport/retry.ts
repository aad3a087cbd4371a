// SPDX-License-Identifier: Apache-2.0
/** Whether and when a failed call is sent again. */
import { ApiError, ConflictError, DeadlineError, TransportError } from "../errors.ts";

/**
 * How a call takes being sent twice. `free`: no harm (reads, deletes, calls that say the same again). `keyed`: the server
 * knows it by its Idempotency-Key and answers with the first one's result. `careful`: it would run twice, so only when
 * nothing has run yet.
 */
export type Repeat = "free" | "keyed" | "careful";

/** Errors that mean "nothing was made, come again", however often: patience decides, not a count. */
const COME_AGAIN: readonly string[] = ["at_capacity", "draining", "rate_limited", "session_bringup_failed"];
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;

export interface Failure {
  readonly error: unknown;
  /** Calls made so far, at least 1. */
  readonly attempts: number;
  /** Failures that are no mere "come again" are repeated this often. */
  readonly retries: number;
}

/** Milliseconds until the next try, or undefined if there is none. */
export function nextTry(failure: Failure, repeat: Repeat, random: () => number = Math.random): number | undefined {
  const { error, attempts } = failure;
  if (!mayRepeat(error, repeat)) return undefined;
  // The operation goes on at the server: the next request joins the wait for it.
  if (error instanceof ApiError && error.code === "operation_timeout") return 0;
  const comeAgain = error instanceof ApiError && COME_AGAIN.includes(error.code);
  if (!comeAgain && attempts > failure.retries) return undefined;
  const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (attempts - 1));
  const asked = error instanceof ApiError ? error.retryAfterSeconds * 1_000 : 0;
  // Half fixed, half drawn: many clients turned away at once must not come back at once.
  return asked + ceiling / 2 + (random() * ceiling) / 2;
}

function mayRepeat(error: unknown, repeat: Repeat): boolean {
  if (error instanceof DeadlineError) return repeat !== "careful";
  if (error instanceof TransportError) return repeat !== "careful" || error.unsent;
  if (!(error instanceof ApiError) || !error.retryable) return false;
  // Something has to change first, and only the caller can change it.
  if (error instanceof ConflictError) return false;
  return repeat !== "careful" || COME_AGAIN.includes(error.code);
}
