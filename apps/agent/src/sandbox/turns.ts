// SPDX-License-Identifier: Apache-2.0
/** Exclusive turns on one sandbox, first come first served. */
import { CollimateError } from "@collimate/contracts";
import pLimit from "p-limit";

const WAITING_MAX = 64;

export class ExclusiveTurns {
  readonly #limit = pLimit(1);

  async take<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#limit.pendingCount >= WAITING_MAX)
      throw new CollimateError("conflict", `${what}: ${WAITING_MAX} other requests already wait for this sandbox`);
    return this.#limit(work);
  }
}

/** For a transfer that a checkpoint has cut off: forks and suspends come after it. */
export const inTurnOf =
  (sandbox: { readonly turns: ExclusiveTurns }) =>
  <T>(transfer: () => Promise<T>): Promise<T> =>
    sandbox.turns.take("file transfer", transfer);
