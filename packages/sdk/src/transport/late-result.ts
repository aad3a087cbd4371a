// SPDX-License-Identifier: Apache-2.0
/** What a call makes after its caller has gone belongs to nobody: it is undone. */
import { reasonOf } from "./sleep.ts";

/** How long an abandoned call may still take, in ms. What it makes later is ended by the server's lease. */
const GRACE_MS = 30_000;

export class LateResults {
  readonly #pending = new Set<Promise<void>>();

  /**
   * Runs `make` and gives its result. When `signal` fires first: rejects at once, waits for the result in the background
   * and hands it to `undo`. (Aborting the request instead would leave it open whether the server made something.)
   */
  async take<T>(
    make: (signal: AbortSignal) => Promise<T>,
    undo: (made: T) => Promise<unknown>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    signal?.throwIfAborted();
    const end = new AbortController();
    const made = make(end.signal);
    if (!signal) return made;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        reject(reasonOf(signal));
        this.#undoLater(made, undo, end);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      made.then(resolve, reject).finally(() => {
        signal.removeEventListener("abort", onAbort);
      });
    });
  }

  #undoLater<T>(made: Promise<T>, undo: (made: T) => Promise<unknown>, end: AbortController): void {
    const timer = setTimeout(() => {
      end.abort();
    }, GRACE_MS);
    const work = made
      .then(undo)
      .catch(() => undefined) // nobody is left to tell, and the server's lease ends what remains
      .then(() => {
        clearTimeout(timer);
        this.#pending.delete(work);
      });
    this.#pending.add(work);
  }

  /** Resolves when everything abandoned so far is undone. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}
