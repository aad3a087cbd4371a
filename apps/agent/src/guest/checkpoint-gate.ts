// SPDX-License-Identifier: Apache-2.0
/** Nothing from outside may be connected to a sandbox while it is checkpointed: the gate holds new connections back. */

/** Does the work while no checkpoint can begin. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export class CheckpointGate {
  #opened: Promise<void> = Promise.resolve();
  #shuts = 0;
  readonly #passing = new Set<Promise<unknown>>();

  /** Resolves when the checkpoint that is under way, if one is, has ended. */
  opened(): Promise<void> {
    return this.#opened;
  }

  /** Connects once the gate is open. */
  async pass<T>(connect: () => Promise<T>): Promise<T> {
    for (let seen: unknown; seen !== this.#opened;) await (seen = this.#opened); // another may come right behind one
    const passing = connect();
    this.#passing.add(passing);
    try {
      return await passing;
    } finally {
      this.#passing.delete(passing);
    }
  }

  /** Runs `work` behind a shut gate. Connections that passed it a moment ago have arrived, or failed, before that. */
  async shutWhile<T>(work: () => Promise<T>): Promise<T> {
    for (let seen: unknown; seen !== this.#opened;) await (seen = this.#opened);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opened = promise;
    this.#shuts += 1;
    try {
      await Promise.allSettled(this.#passing);
      return await work();
    } finally {
      resolve();
    }
  }

  /** Does a transfer that a checkpoint cut off again from its start, and this time the next checkpoint has to wait for it. */
  async undisturbed<T>(transfer: () => Promise<T>, wasCutOff: (error: unknown) => boolean, inTurn: InTurn): Promise<T> {
    const before = this.#shuts;
    try {
      return await transfer();
    } catch (error) {
      if (this.#shuts === before || !wasCutOff(error)) throw error;
    }
    return inTurn(transfer);
  }
}
