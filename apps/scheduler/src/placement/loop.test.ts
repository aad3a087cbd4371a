// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { PlacementLoop } from "./loop.ts";

it("runs one pass at a time, and one more for all who came meanwhile", async () => {
  let running = 0;
  let passes = 0;
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const loop = new PlacementLoop(async () => {
    expect(++running).toBe(1);
    await gates[passes++]?.promise;
    running -= 1;
  });
  const first = loop.wake();
  const others = [loop.wake(), loop.wake(), loop.wake()];
  gates[0]?.resolve();
  await first;
  gates[1]?.resolve();
  await Promise.all(others);
  expect(passes).toBe(2);
  await loop.wake();
  expect(passes).toBe(3);
  await loop.close();
  await loop.wake();
  expect(passes).toBe(3);
});

it("goes on after a pass that failed", async () => {
  let passes = 0;
  const loop = new PlacementLoop(async () => {
    if (++passes === 1) throw new Error("the database is away");
  });
  const first = loop.wake();
  const second = loop.wake();
  await expect(first).rejects.toThrow("away");
  await second;
  expect(passes).toBe(2);
});
