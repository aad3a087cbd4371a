// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from "../transport/sleep.ts";

export interface MapOptions {
  /** At most this many at once. Default: all. */
  readonly concurrency?: number;
  /** Ends the whole map. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `work` on every item and gives the results by position. The first error aborts the signal that the others were
 * given and keeps new ones from starting; it is thrown when all that had started have ended, so nothing runs on unseen.
 */
export async function mapAll<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number, signal: AbortSignal) => Promise<Result>,
  options: MapOptions = {},
): Promise<Result[]> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const results: Result[] = [];
  const failures: unknown[] = [];
  // One iterator for all workers: each takes the next item that nobody has.
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (signal.aborted) return;
      try {
        results[index] = await work(item, index, signal);
      } catch (error) {
        failures.push(error);
        stop.abort(error);
      }
    }
  };
  const width = Math.max(1, Math.min(options.concurrency ?? items.length, items.length));
  await Promise.all(Array.from({ length: width }, worker));
  if (failures.length > 0) throw failures[0];
  if (options.signal?.aborted) throw reasonOf(options.signal);
  return results;
}
