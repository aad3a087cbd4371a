// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { often } from "@collimate/testing/full";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Holder, restore } from "../src/index.ts";
import { compareMemory } from "./memory.ts";
import { threadsOf, treeOf } from "./processes.ts";
import { command, type Sandbox, type Snapshot, TREE, World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

function differing(one: Sandbox, other: Sandbox): number {
  const others = treeOf(other.pid);
  let extra = 0;
  for (const [index, pid] of treeOf(one.pid).entries()) {
    const { sameLayout, blocks } = compareMemory(pid, others[index] ?? 0);
    if (!sameLayout) return Number.POSITIVE_INFINITY;
    // One per thread is the kernel's own, see compareMemory().
    extra += Math.max(0, blocks.length - threadsOf(pid));
  }
  return extra;
}

/** What a generation does to its memory before it becomes a parent: every way in which a region can change. */
const LIVES: readonly (readonly string[])[] = [
  ["scatter 500 1", "grow", "stretch"],
  ["scatter 900 2", "drop odd", "stretch"],
  ["scatter 3000 3", "resize", "grow", "stretch"],
  ["give back", "scatter 2000 4", "stretch"],
  ["resize", "stretch"],
];

const GENERATIONS = often(LIVES.length, 20);

/** Of those after the first five: nothing that doubles each time, and a region that has room for 15 steps in all. */
function laterLife(generation: number): readonly string[] {
  const written = `scatter ${100 * generation} ${generation}`;
  if (generation % 4 === 0) return [written, "stretch"];
  if (generation % 4 === 1) return ["give back", written];
  return generation % 4 === 2 ? ["resize", written, "stretch"] : ["drop odd", written];
}

describe(`${GENERATIONS} generations of snapshots, each of a copy of the last`, () => {
  const snapshots: Snapshot[] = [];
  const copies: Sandbox[] = [];
  let holder: Holder;

  beforeAll(async () => {
    snapshots.push(await world.snapshot(await world.sandbox()));
    holder = await world.hold(snapshots[0] as Snapshot);
  });

  const lives = Array.from({ length: GENERATIONS }, (_, index) => ({ generation: index + 1, life: LIVES[index] ?? laterLife(index + 1) }));
  test.each(lives)("generation $generation is a small delta that its copies agree with", async ({ generation, life }) => {
    const before = snapshots.at(-1) as Snapshot;
    const copy = await world.restore(holder, before);
    const answers = [];
    for (const step of life) answers.push(await command(copy, step));
    // Nothing came back from the dead, nobody was harmed, no call failed.
    for (const answer of answers) expect(answer).toMatch(/^(touched \d+|0|old 0( harmed 0( failed 0)?)?)$/);

    const snapshot = await world.snapshot(copy, { delta: { parentImages: before.images } });
    expect(snapshot.result.kind).toBe("delta");
    expect(snapshot.result.pagesInParent).toBeGreaterThan(5_000);
    const older = holder;
    holder = await world.derive(older, snapshot);
    // Its ancestors are not needed.
    await older.stop();
    expect((await holder.stat()).generation).toBe(generation);

    const next = await world.restore(holder, snapshot);
    expect(differing(copy, next)).toBe(0);
    if (generation > 2) expect(await command(next, "odd is dropped")).toBe("old 0");
    snapshots.push(snapshot);
    copies.push(copy);
  });

  test("are restored by criu's own restore, without a holder", async () => {
    const snapshot = snapshots.at(-1) as Snapshot;
    const parent = copies.at(-1) as Sandbox;
    const [, base] = /^\s*0\s+(\d+)/.exec(await readFile(`/proc/${parent.pid}/uid_map`, "utf8")) ?? [];
    const { root, upper } = await world.root(snapshot.layers, Number(base));
    const pid = await restore({
      program: world.program,
      tree: TREE,
      images: snapshot.images,
      root,
      work: world.path(world.name("work")),
    });
    world.track(pid);
    expect(differing(parent, { pid, upper, layers: snapshot.layers })).toBe(0);
  });

  test("are loaded by a new holder from the whole chain", async () => {
    const snapshot = snapshots.at(-1) as Snapshot;
    const parent = copies.at(-1) as Sandbox;
    const cold = await world.hold(snapshot, { table: world.path("cold.tab") });
    expect(differing(parent, await world.restore(cold, snapshot))).toBe(0);
    // It holds the same as the one that got there by five steps.
    const [a, b] = [await cold.stat(), await holder.stat()];
    expect([a.regions, a.heldBytes, a.populatedBytes]).toEqual([b.regions, b.heldBytes, b.populatedBytes]);
  });

  test("keep a program's data right up to the last", async () => {
    const snapshot = snapshots[2] as Snapshot;
    const cold = await world.hold(snapshot, { table: world.path("third.tab") });
    expect(await command(await world.restore(cold, snapshot), "check")).toBe("wrong 0");
  });
});

describe("a delta dump", () => {
  test("of a copy that has done nothing writes almost nothing", async () => {
    const first = await world.snapshot(await world.sandbox());
    const copy = await world.restore(await world.hold(first), first);
    const { result } = await world.snapshot(copy, { delta: { parentImages: first.images } });
    expect(result.kind).toBe("delta");
    // 512 pages of it are memory that may not be read: criu takes that along each time.
    expect(result.pagesWritten).toBeLessThan(1_000);
    expect(first.result.pagesWritten).toBeGreaterThan(20_000);
  });

  test("whose holder is gone is a full one", async () => {
    const first = await world.snapshot(await world.sandbox());
    const holder = await world.hold(first);
    const copy = await world.restore(holder, first);
    await holder.stop();
    const second = await world.snapshot(copy, { delta: { parentImages: first.images } });
    expect(second.result.kind).toBe("full");
    expect(await command(await world.restore(await world.hold(second), second), "check")).toBe("wrong 0");
  });

  test("of another snapshot's copy is refused by a holder, which goes on", async () => {
    const sandbox = await world.sandbox();
    const first = await world.snapshot(sandbox);
    const same = await world.snapshot(sandbox);
    const copy = await world.restore(await world.hold(first), first);
    const delta = await world.snapshot(copy, { delta: { parentImages: first.images } });
    const holder = await world.hold(same);
    await expect(world.derive(holder, delta)).rejects.toThrow(/not the snapshot that is held/);
    expect(await command(await world.restore(holder, same), "check")).toBe("wrong 0");
  });

  test("of a copy that another holder has made can't be derived from by accident", async () => {
    const first = await world.snapshot(await world.sandbox());
    const [one, other] = [
      await world.hold(first, { table: world.path("one.tab") }),
      await world.hold(first, { table: world.path("other.tab") }),
    ];
    const copy = await world.restore(one, first);
    await command(copy, "scatter 100 1");
    // No page is shared with `other`, so all count as written: right, only not small.
    const second = await world.snapshot(copy, {
      delta: { parentImages: first.images, table: world.path("other.tab") },
    });
    expect(second.result.pagesInParent).toBe(0);
    const derived = await world.derive(other, second);
    expect(differing(copy, await world.restore(derived, second))).toBe(0);
  });
});
