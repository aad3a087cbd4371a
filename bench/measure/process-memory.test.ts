// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { memoryOf } from "./process-memory.ts";

test("memory that a process has written is its own", async () => {
  const before = await memoryOf([process.pid]);
  const block = Buffer.alloc(64 * 2 ** 20, 1);
  const after = await memoryOf([process.pid]);
  expect(after.privateMiB - before.privateMiB).toBeGreaterThan(60);
  expect(after.vmas).toBeGreaterThan(10);
  expect(block[0]).toBe(1);
});

test("a process that has ended meanwhile has none, and the others are counted all the same", async () => {
  const ended = spawn("/bin/true");
  await once(ended, "exit");
  const both = await memoryOf([process.pid, ended.pid ?? 0]);
  expect(both.privateMiB).toBeGreaterThan(1);
  expect(await memoryOf([ended.pid ?? 0])).toEqual({ privateMiB: 0, pageTablesMiB: 0, vmas: 0 });
});
