// SPDX-License-Identifier: Apache-2.0
/** Runs passes one after another. However often it is woken during a pass, one more follows. */
export class PlacementLoop {
  readonly #pass: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #closed = false;

  constructor(pass: () => Promise<void>) {
    this.#pass = pass;
  }

  /** Resolves when a pass that began after this call has ended. */
  wake(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (this.#next) return this.#next;
    if (!this.#running) return this.#start();
    const start = () => this.#start();
    return (this.#next = this.#running.then(start, start));
  }

  /** Starts no further pass and waits for the one under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.catch(() => {});
  }

  #start(): Promise<void> {
    this.#next = undefined;
    if (this.#closed) return Promise.resolve();
    const running = this.#pass().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
