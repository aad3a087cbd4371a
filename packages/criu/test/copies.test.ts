// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Holder } from "../src/index.ts";
import { compareMemory } from "./memory.ts";
import { threadsOf, treeOf } from "./processes.ts";
import { command, type Sandbox, type Snapshot, subjectOf, World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/** Compares each task of two copies of a tree. */
function expectEqualMemory(one: Sandbox, other: Sandbox): void {
  const [ones, others] = [treeOf(one.pid), treeOf(other.pid)];
  expect(others.length).toBe(ones.length);
  for (const [index, pid] of ones.entries()) {
    const result = compareMemory(pid, others[index] ?? 0);
    expect(result.sameLayout).toBe(true);
    expect(result.bytes).toBeGreaterThan(100_000);
    expect(result.blocks.length, result.blocks.slice(0, 8).join(" ")).toBeLessThanOrEqual(threadsOf(pid));
  }
}

describe("a copy of a C program", () => {
  let parent: Sandbox;
  let snapshot: Snapshot;
  let holder: Holder;
  let child: Sandbox;
  beforeAll(async () => {
    parent = await world.sandbox();
    snapshot = await world.snapshot(parent);
    holder = await world.hold(snapshot);
    child = await world.restore(holder, snapshot);
  });

  test("has all private memory of its parent, byte for byte, in every task", () => {
    expect(treeOf(parent.pid).length).toBe(3);
    expectEqualMemory(parent, child);
  });

  test("that has changed one byte is found by the comparison", async () => {
    const spoilt = await world.restore(holder, snapshot);
    await command(spoilt, "spoil");
    const before = compareMemory(subjectOf(parent), subjectOf(child)).blocks.length;
    expect(compareMemory(subjectOf(parent), subjectOf(spoilt)).blocks.length).toBeGreaterThan(before);
  });

  test("finds its data as it was", async () => {
    expect(await command(child, "check")).toBe("wrong 0");
    expect(await command(child, "pipe")).toBe("in flight");
  });

  test("has locked, executable, unreadable, wiped and huge sparse memory as it was", async () => {
    expect(await command(parent, "check special")).toBe("wrong 0 ways 6");
    expect(await command(child, "check special")).toBe("wrong 0 ways 6");
  });

  test("reads zeros where it gave memory back, and harms no neighbour", async () => {
    expect(await command(child, "give back")).toBe("old 0 harmed 0 failed 0");
  });

  test("reads old bytes there in a private mapping of a file, so the check above can fail", async () => {
    expect(await command(child, "give back file")).toBe("old 4096");
  });

  test("grows and resizes blocks", async () => {
    expect(await command(child, "grow")).toBe("old 0 harmed 0");
    expect(await command(child, "resize")).toBe("old 0");
  });

  test("leaves its siblings and later copies alone", async () => {
    const later = await world.restore(holder, snapshot);
    expect(await command(later, "check")).toBe("wrong 0");
    expect(await command(parent, "check")).toBe("wrong 0");
  });

  test("draws keys of its own, though the generators' state lies in memory", async () => {
    const drawn = [await command(parent, "keys")];
    for (let i = 0; i < 4; i++) drawn.push(await command(await world.restore(holder, snapshot), "keys"));
    const keys = drawn.flatMap((answer) => {
      const [, one, other] = /^(?:vdso|kernel) ([0-9a-f]{32})([0-9a-f]{32})$/.exec(answer) ?? [];
      return [one, other];
    });
    expect(keys).not.toContain(undefined);
    expect(new Set(keys).size).toBe(10);
  });

  test("of which file mappings are not held is right as well", async () => {
    const exact = await world.hold(snapshot, { fileMappings: "exact", table: world.path("exact.tab") });
    const copy = await world.restore(exact, snapshot);
    // Not with the parent: it has drawn keys in a new thread since.
    expectEqualMemory(await world.restore(holder, snapshot), copy);
    expect(await command(copy, "check")).toBe("wrong 0");
  });

  test("can be the parent of copies with another range of ids", async () => {
    const second = await world.snapshot(child, { delta: { parentImages: snapshot.images } });
    expect(second.result.kind).toBe("delta");
    const derived = await world.derive(holder, second);
    const grandchild = await world.restore(derived, second);
    expectEqualMemory(child, grandchild);
    expect(await command(grandchild, "check special")).toBe("wrong 0 ways 6");
    expect(await command(grandchild, "give back")).toBe("old 0 harmed 0 failed 0");
    expect(await command(grandchild, "grow")).toBe("old 0 harmed 0");
    expect(await command(grandchild, "resize")).toBe("old 0");
  });
});

describe("a copy of a Python program", () => {
  let parent: Sandbox;
  let child: Sandbox;
  beforeAll(async () => {
    parent = await world.sandbox(["/usr/bin/python3", "/subject.py"]);
    const snapshot = await world.snapshot(parent);
    child = await world.restore(await world.hold(snapshot), snapshot);
  });

  test("has all private memory of its parent, byte for byte, in every task", () => {
    expectEqualMemory(parent, child);
  });

  test("goes on with its objects, threads, locks, pipes and child", async () => {
    expect(await command(child, "kept()")).toBe("True");
    expect(await command(child, "through_child('hello')")).toBe("'HELLO 200000'");
    expect(await command(child, "lock_is_kept()")).toBe("True");
    expect(await command(child, "grow()")).toBe("True");
  });
});

describe("a copy of a Python program with a pool of processes", () => {
  test("has equal memory and goes on using the pool", async () => {
    const parent = await world.sandbox(["/usr/bin/python3", "/subject.py", "pool"]);
    expect(await command(parent, "pooled()")).toBe("[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]");
    const snapshot = await world.snapshot(parent);
    const holder = await world.hold(snapshot);
    const child = await world.restore(holder, snapshot);
    expect(treeOf(child.pid).length).toBe(5);
    // The pool's own threads wake now and then, so only the pages that are surely still can be equal.
    expect(await command(child, "kept()")).toBe("True");
    expect(await command(child, "pooled()")).toBe("[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]");
    expect(await command(child, "through_child('again')")).toBe("'AGAIN 200000'");
  });
});
