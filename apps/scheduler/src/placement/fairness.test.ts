// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";
import { fairBacklog } from "./backlog.ts";
import { Claims } from "./claims.ts";

describe("the order of those who wait", () => {
  it("gives every tenant its turn, and each its own in the order they came", async () => {
    await using world = await World.open();
    const template = await world.template("tpl_x", { phase: "Live", snapshotId: "snp_x" });
    await world.tenant("ten_b");
    const asked: [string, string][] = [
      ["a1", "ten_a"],
      ["a2", "ten_a"],
      ["a3", "ten_a"],
      ["b1", "ten_b"],
      ["b2", "ten_b"],
    ];
    for (const [id, tenantId] of asked) {
      world.pass(1);
      await world.create(template, { id }, tenantId);
    }
    const scheduler = await world.scheduler(); // there is no node, so all of them wait
    expect((await fairBacklog(scheduler.ctx)).map((waiting) => waiting.id)).toEqual(["a1", "b1", "a2", "b2", "a3"]);
  });

  it("lets a tenant with one request through beside one with a hundred", async () => {
    await using world = await World.open();
    await world.scheduler();
    const template = await world.template("tpl_x", { phase: "Live", snapshotId: "snp_x" });
    await world.tenant("ten_b");
    const many = [];
    for (let i = 0; i < 100; i++) {
      world.pass(1);
      many.push(await world.create(template));
    }
    world.pass(1_000);
    const one = await world.create(template, {}, "ten_b");
    await world.agent("node_a", { slots: 2, snapshots: [["snp_x", "tpl_x"]] });
    await world.done(one);
    await world.done(many[0]!);
    expect(await world.db.client.operation.count({ where: { state: "queued" } })).toBe(99);
  });

  it("does not let small requests starve a large one", async () => {
    await using world = await World.open({ starvingMs: 10_000 });
    const scheduler = await world.scheduler();
    const agent = await world.agent("node_a", { slots: 3 });
    await world.tenant("ten_b");
    const template = await world.bakedTemplate();
    const parent = await world.running(template);
    const small = await world.running(template);
    await world.beat(1_000, agent);
    const large = await world.fork(parent, 2);
    const early = await world.create(template, {}, "ten_b"); // may still take the last slot
    await world.done(early);
    await world.beat(10_000, agent);
    world.pass(5);
    await world.done(await world.on("delete", small.id));
    const late = await world.create(template, {}, "ten_b"); // may not: the fork has waited too long
    await scheduler.placeAll();
    expect((await world.operation(late)).state).toBe("queued");
    await world.on("delete", ...early.sandboxIds);
    await world.done(large);
  });

  const fork = { tenantId: "ten_a", kind: "fork", templateId: "tpl" } as const;
  const create = { tenantId: "ten_a", kind: "create", templateId: "tpl" } as const;
  const waitsFor = (slots: number, ...full: string[]) =>
    ({ kind: "waits", why: "no_room", full, need: { slots, mib: slots * 32 } }) as const;
  const need = (slots: number) => ({ slots, mib: slots * 32 });

  it("keeps a tenant's later requests behind its earlier ones, on the nodes that those wait for", () => {
    const claims = new Claims();
    claims.add(fork, waitsFor(8, "node_1"), false);
    expect([claims.mayTake("ten_a", "node_1", need(1)), claims.mayTake("ten_a", "node_2", need(1))]).toEqual([false, true]);
  });

  it("lets another tenant take what the one before could not have used, until that one starves", () => {
    const claims = new Claims();
    claims.add(fork, waitsFor(8, "node_1"), false);
    expect([claims.mayTake("ten_b", "node_1", need(7)), claims.mayTake("ten_b", "node_1", need(8))]).toEqual([true, false]);
    claims.add(fork, waitsFor(8, "node_1"), true);
    expect(claims.mayTake("ten_b", "node_1", need(1))).toBe(false);
  });

  it("does not try a hundred creates that would all meet the same", () => {
    const claims = new Claims();
    claims.add(create, waitsFor(1, "node_1"), false);
    expect([
      claims.isBehind(create),
      claims.isBehind({ ...create, templateId: "other" }),
      claims.isBehind({ ...create, tenantId: "ten_b" }),
      claims.isBehind(fork),
    ]).toEqual([true, false, false, false]);
    expect(claims.waiting.get("no_room")).toBe(2);
  });
});
