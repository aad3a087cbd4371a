// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";

describe("a create", () => {
  it("is placed where its template is, and runs", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    expect(template).toMatchObject({ phase: "Live", bakeMode: "built" });
    await world.agent("node_larger", { memoryMib: 1_000_000 });

    const sandbox = await world.running(template);
    expect(sandbox).toMatchObject({ state: "running", nodeId: "node_a", startedAt: world.now(), forkTimeMs: 3 });
    expect(agent.sandboxes).toContain(sandbox.id);
    expect(agent.jobs.at(-1)).toMatchObject({ kind: "create", snapshotId: template.snapshotId, resources: { memory_mib: 512 } });
  });

  it("waits while there is no node and is served when one joins", async () => {
    await using world = await World.open();
    const scheduler = await world.scheduler();
    const template = await world.template("tpl_x", { phase: "Live", snapshotId: "snp_x" });
    const operation = await world.create(template);
    await scheduler.placeAll();
    expect((await world.operation(operation)).state).toBe("queued");

    await world.agent("node_a", { snapshots: [["snp_x", "tpl_x"]] });
    await world.done(operation);
  });

  it("waits while every slot is taken and is served when a delete frees one, before the next heartbeat", async () => {
    await using world = await World.open();
    const scheduler = await world.scheduler();
    const agent = await world.agent("node_a", { slots: 1 });
    const template = await world.bakedTemplate();
    const first = await world.running(template);
    await world.beat(1_000, agent);
    const second = await world.create(template);
    await scheduler.placeAll();
    expect((await world.operation(second)).state).toBe("queued");

    world.pass(10);
    await world.done(await world.on("delete", first.id));
    await world.done(second);
  });

  it("is never placed in memory that must stay free", async () => {
    await using world = await World.open({ reserveMib: 1_000, childMib: 200, bakeMib: 1 });
    const scheduler = await world.scheduler();
    await world.agent("node_a", { memoryMib: 1_500, sandboxMib: 0 });
    const template = await world.bakedTemplate();
    await world.running(template);
    await world.running(template);
    const third = await world.create(template);
    await scheduler.placeAll();
    expect((await world.operation(third)).state).toBe("queued");
    expect(await world.node("node_a")).toMatchObject({ reservedMib: 400, reservedSlots: 2 });
  });

  it("that no node could ever hold fails at once", async () => {
    await using world = await World.open({ childMib: 512, bakeMib: 1 });
    await world.scheduler();
    await world.agent("node_a", { memoryMib: 700 });
    const template = await world.bakedTemplate();
    const operation = await world.create(template);
    expect(await world.failure(operation)).toMatchObject({ code: "does_not_fit" });
    expect((await world.sandbox(operation.sandboxIds)).state).toBe("deleted");
  });

  it("is placed on another node when the first refuses", async () => {
    await using world = await World.open();
    await world.scheduler();
    const first = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const second = await world.agent("node_b", { memoryMib: 1_000, snapshots: [[template.snapshotId ?? "", template.id]] });
    await world.beat(1, second);
    first.fail("create", { code: "draining", message: "going down" });
    const sandbox = await world.running(template);
    expect(sandbox.nodeId).toBe("node_b");
    expect(await world.node("node_a")).toMatchObject({ state: "draining", reservedSlots: 0 });
  });

  it("keeps nothing when the node fails to make it", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    agent.fail("create", { code: "create_failed", message: "criu said no", detail: "Error (criu/x.c)" });
    const operation = await world.create(template);
    expect(await world.failure(operation)).toEqual({ code: "create_failed", message: "criu said no", detail: "Error (criu/x.c)" });
    expect(await world.sandbox(operation.sandboxIds)).toMatchObject({ state: "deleted", error: "criu said no" });
    await world.until(async () => (await world.node("node_a")).reservedMib === 0);
    expect(await world.metered(operation.sandboxIds[0]!, world.now())).toEqual([]);
  });

  it("waits for a template that is still being baked without holding up others", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const ready = await world.bakedTemplate();
    const release = agent.hold("bake");
    const baking = await world.template();
    const bake = await world.bake(baking);
    const early = await world.create(baking);
    await world.running(ready);
    expect((await world.operation(early)).state).toBe("queued");
    release();
    await world.done(bake);
    await world.done(early);
  });

  it("of a template whose bake failed says why", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    agent.fail("bake", { code: "bake_failed", message: "the ready command gave 3", detail: "no module torch" });
    const template = await world.template();
    expect((await world.failure(await world.bake(template))).code).toBe("bake_failed");
    expect(await world.db.client.template.findUnique({ where: { id: template.id } })).toMatchObject({
      phase: "Failed",
      buildFails: 1,
      errorCode: "bake_failed",
      error: "the ready command gave 3\nno module torch",
    });
    expect(await world.failure(await world.create(template))).toMatchObject({
      code: "bake_failed",
      message: expect.stringContaining("no module torch"),
    });
  });
});
