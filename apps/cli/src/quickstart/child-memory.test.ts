// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChildMemoryWatch } from "./child-memory.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "collimate-test-"));
  await mkdir(join(root, "collimate", "node_1"), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const MIB = 2 ** 20;
/** A control group as the kernel shows it. */
async function group(name: string, bytes: number, procs: string, word = "rss"): Promise<void> {
  const path = join(root, "collimate", "node_1", name);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "cgroup.procs"), procs);
  await writeFile(join(path, "memory.stat"), `cache 999999999\n${word} ${bytes}\nrss_huge 0\n`);
}

test("the figure is the median child's, which the parent's working set does not move", async () => {
  await group("slot-0", 230 * MIB, "10\n");
  for (const [i, mib] of [1, 2, 3].entries()) await group(`slot-${i + 1}`, mib * MIB, "11\n");
  using watch = new ChildMemoryWatch("node_1", [root]);
  watch.sample();
  expect(watch.perChild(0, Infinity, 3)).toBe(3);
});

test("a look while the group is being ended does not make the figure", async () => {
  using watch = new ChildMemoryWatch("node_1", [root]);
  for (const mib of [4, 4, 0]) {
    for (const name of ["slot-0", "slot-1"]) await group(name, mib * MIB, "10\n");
    watch.sample();
  }
  expect(watch.perChild(0, Infinity, 1)).toBe(4);
});

test("prepared places and holders are not children", async () => {
  await group("slot-0", 230 * MIB, "10\n");
  await group("slot-1", MIB, "11\n");
  await group("slot-2", 50 * MIB, "");
  await group("holders", 50 * MIB, "12\n");
  using watch = new ChildMemoryWatch("node_1", [root]);
  watch.sample();
  expect(watch.perChild(0, Infinity, 2)).toBeNull();
  expect(watch.perChild(0, Infinity, 1)).toBe(230);
});

test("a look outside the group's life does not count, and v2's word is known", async () => {
  await group("slot-0", MIB, "10\n", "anon");
  await group("slot-1", MIB, "11\n", "anon");
  using watch = new ChildMemoryWatch("node_1", ["/nonexistent", root]);
  watch.sample();
  expect(watch.perChild(0, 1, 1)).toBeNull();
  expect(watch.perChild(0, Infinity, 1)).toBe(1);
});
