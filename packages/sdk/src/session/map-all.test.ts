// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { mapAll } from "./map-all.ts";

describe("mapAll", () => {
  it("keeps positions whatever finishes first", async () => {
    const release: (() => void)[] = [];
    const work = mapAll([0, 1, 2], async (item) => {
      await new Promise<void>((resolve) => release.push(resolve));
      return item * 10;
    });
    for (const open of release.toReversed()) open();
    expect(await work).toEqual([0, 10, 20]);
  });

  it("starts nothing more after an error, and ends only when all that started has ended", async () => {
    const started: number[] = [];
    let ended = 0;
    const work = mapAll(
      [0, 1, 2, 3, 4],
      async (item, _index, signal) => {
        started.push(item);
        if (item === 0) throw new Error("zero");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended++;
      },
      { concurrency: 2 },
    );
    await expect(work).rejects.toThrowError("zero");
    expect(started).toEqual([0, 1]);
    expect(ended).toBe(1);
  });

  it("ends with the caller's reason when the caller stops it", async () => {
    const stop = new AbortController();
    const work = mapAll([0, 1], (_item, _index, signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)), {
      signal: stop.signal,
    });
    stop.abort(new Error("enough"));
    await expect(work).rejects.toThrowError("enough");
  });

  it("of nothing is nothing", async () => {
    expect(await mapAll([], () => Promise.reject(new Error("not called")))).toEqual([]);
  });
});
