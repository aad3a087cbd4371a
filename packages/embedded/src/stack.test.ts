// SPDX-License-Identifier: Apache-2.0
import { readdir, stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { identify } from "./process/identity.ts";
import { startStack } from "./stack.ts";

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

test("a stopped stack leaves no process, no file, no shared memory", async () => {
  const before = await readdir("/dev/shm");
  const stack = await startStack();
  const pids = [stack.postgres.pid, stack.redis.pid, stack.registry.pid];
  expect((await Promise.all(pids.map(identify))).every((found) => found !== undefined)).toBe(true);

  await stack.stop();
  await stack.stop(); // a second time is harmless
  expect(await Promise.all(pids.map(identify))).toEqual([undefined, undefined, undefined]);
  expect(await exists(stack.dir)).toBe(false);
  const ours = (await readdir("/dev/shm")).filter((name) => name.startsWith("PostgreSQL.") && !before.includes(name));
  expect(ours).toEqual([]);
});

test("only the named parts are started", async () => {
  await using stack = await startStack("redis");
  expect(await readdir(stack.dir)).toEqual(["redis"]);
});
