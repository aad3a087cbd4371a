// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChildMemoryWatch, privateBytesOf } from "./child-memory.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "collimate-test-"));
  await mkdir(join(root, "collimate", "node_1"), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const MIB = 2 ** 20;
const memory = new Map<number, number>();

/** A control group as the kernel shows it, with one process of that size for each pid. */
async function group(name: string, pids: readonly number[], mib: number): Promise<void> {
  const path = join(root, "collimate", "node_1", name);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "cgroup.procs"), pids.map((pid) => `${pid}\n`).join(""));
  for (const pid of pids) memory.set(pid, mib * MIB);
}

const watching = (roots = [root]) => new ChildMemoryWatch("node_1", roots, (pid) => memory.get(pid) ?? 0);

test("the figure is a median child's, which the parent's working set does not move", async () => {
  await group("slot-0", [10], 230);
  for (const [i, mib] of [1, 2, 3].entries()) await group(`slot-${i + 1}`, [20 + i], mib);
  using watch = watching();
  watch.look();
  expect(watch.perChild(0, Infinity, 3)).toBe(2);
});

test("all processes of a sandbox count, and the largest look does", async () => {
  using watch = watching();
  for (const mib of [1, 4, 0]) {
    for (const [i, name] of ["slot-0", "slot-1"].entries()) await group(name, [30 + 2 * i, 31 + 2 * i], mib);
    watch.look();
  }
  expect(watch.perChild(0, Infinity, 1)).toBe(8);
});

test("prepared places and holders are not children", async () => {
  await group("slot-0", [10], 230);
  await group("slot-1", [11], 1);
  await group("slot-2", [], 0);
  await group("holders", [12], 50);
  using watch = watching(["/nonexistent", root]);
  watch.look();
  expect(watch.perChild(0, Infinity, 2)).toBeNull();
  expect(watch.perChild(0, Infinity, 1)).toBe(1);
});

test("a look outside the group's life does not count", async () => {
  await group("slot-0", [10], 1);
  await group("slot-1", [11], 1);
  using watch = watching();
  watch.look();
  expect(watch.perChild(0, 1, 1)).toBeNull();
});

test("a process that is there has memory of its own, one that is not has none", () => {
  expect(privateBytesOf(process.pid)).toBeGreaterThan(MIB);
  expect(privateBytesOf(2 ** 22 + 1)).toBe(0);
});
