// SPDX-License-Identifier: Apache-2.0
import type { Leak } from "./leak.ts";

/** Removes what can be removed, in the order given; gives those that it removed. What cannot be is found again by the next look. */
export async function removeLeaks(leaks: readonly Leak[]): Promise<Leak[]> {
  const removed: Leak[] = [];
  for (const leak of leaks) {
    if (leak.remove === undefined) continue;
    const failure = await leak.remove().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) removed.push(leak);
  }
  return removed;
}
