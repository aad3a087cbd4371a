// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll, expect, test } from "vitest";
import { childrenOf, isAlive, privateKiB, treeOf, waitFor } from "./processes.ts";
import { command, type Sandbox, World } from "./world.ts";

const COPIES = 64;
const AT_A_TIME = 8;

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

test(`${COPIES} copies, ${AT_A_TIME} at a time, are all right and end without a trace`, async () => {
  const parent = await world.sandbox(["/usr/bin/python3", "/subject.py"]);
  const snapshot = await world.snapshot(parent);
  const holder = await world.hold(snapshot);
  const uidBase = world.uidBase();
  const roots: string[] = [];
  for (let i = 0; i < COPIES; i++) roots.push((await world.root(snapshot.layers, uidBase)).root);

  const copies: Sandbox[] = [];
  const times: number[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (let root = roots.pop(); root !== undefined; root = roots.pop()) {
        const restored = await holder.restore({ root, work: world.path(world.name("work")), uidBase });
        world.track(restored.pid);
        times.push(restored.ms);
        copies.push({ pid: restored.pid, upper: "", layers: [] });
      }
    }),
  );
  const wall = performance.now() - started;
  expect(new Set(copies.map(({ pid }) => pid)).size).toBe(COPIES);
  const held = copies.reduce((sum, { pid }) => sum + treeOf(pid).reduce((all, task) => all + privateKiB(task), 0), 0);
  // A copy's tree has 60 MB; what it does not share is a small part of that.
  expect(held / COPIES).toBeLessThan(6_000);
  for (const copy of copies) expect(await command(copy, "kept()")).toBe("True");

  for (const { pid } of copies) process.kill(pid, "SIGKILL");
  await waitFor("all copies to end", () => copies.every(({ pid }) => !isAlive(pid)));
  await waitFor("the holder to reap them", () => childrenOf(holder.pid).length === 0);
  expect((await holder.stat()).inFlight).toBe(0);

  times.sort((a, b) => a - b);
  console.info(
    `${COPIES} copies of 3 tasks: ${(wall / COPIES).toFixed(1)} ms each by wall clock, ` +
      `${times[COPIES / 2]?.toFixed(1)} ms from request to running (median), ${Math.round(held / COPIES)} KiB private`,
  );
});
