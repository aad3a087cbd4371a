// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";

describe("a heartbeat", () => {
  it("makes the node known, with its room and what it holds", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a", { slots: 7, snapshots: [["snp_1", "tpl_1"]] });
    await world.until(async () => (await world.node("node_a")).slotsTotal === 7);
    expect(await world.db.client.nodeSnapshot.findMany()).toMatchObject([
      { nodeId: "node_a", snapshotId: "snp_1", templateId: "tpl_1", resident: true, seenAt: world.now() },
    ]);
    agent.snapshots.clear();
    await world.beat(1, agent);
    expect(await world.db.client.nodeSnapshot.count()).toBe(0);
  });

  it("that came late changes nothing", async () => {
    await using world = await World.open();
    const { ctx } = await world.scheduler();
    const { applyHeartbeat } = await import("./heartbeat.ts");
    const agent = await world.agent("node_a");
    const early = agent.heartbeat();
    await world.beat(1_000, agent);
    expect(await applyHeartbeat(ctx, { ...early, room: { ...early.room, slotsTotal: 1 } })).toBe("stale");
    expect((await world.node("node_a")).slotsTotal).toBe(64);
  });

  it("turns what was reserved into what is used", async () => {
    await using world = await World.open({ childMib: 100 });
    await world.scheduler();
    const agent = await world.agent("node_a");
    const sandbox = await world.running(await world.bakedTemplate());
    await world.until(async () => (await world.node("node_a")).reservedMib === 100); // the bake's room is given back
    await world.beat(1_000, agent);
    expect(await world.node("node_a")).toMatchObject({ reservedMib: 0, reservedSlots: 0, slotsFree: 63 });
    expect((await world.sandbox([sandbox.id])).reservedMib).toBe(0);
  });

  it("without a running sandbox is forgiven once; at the second it is lost, and its meter ends at the last sign of life", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const start = world.now();
    const sandbox = await world.running(await world.bakedTemplate());
    await world.beat(3_000, agent);
    agent.vanish(sandbox.id);
    await world.beat(3_000, agent);
    expect(await world.sandbox([sandbox.id])).toMatchObject({ state: "running", missedBeats: 1 });
    await world.beat(3_000, agent);
    expect(await world.sandbox([sandbox.id])).toMatchObject({ state: "failed", error: "it vanished from its node" });
    expect(await world.metered(sandbox.id, start)).toEqual([[0, 3_000]]);
  });

  it("that lists it again after a miss clears the miss", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const sandbox = await world.running(await world.bakedTemplate());
    for (const listed of [false, true, false]) {
      if (listed) agent.sandboxes.add(sandbox.id);
      else agent.vanish(sandbox.id);
      await world.beat(1_000, agent);
    }
    expect(await world.sandbox([sandbox.id])).toMatchObject({ state: "running", missedBeats: 1 });
  });

  it("of an agent that was started anew ends what did not live on, at once", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const start = world.now();
    const sandbox = await world.running(await world.bakedTemplate());
    await world.beat(2_000, agent);
    world.pass(1_000);
    await agent.restart();
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "failed");
    expect(await world.metered(sandbox.id, start)).toEqual([[0, 2_000]]);
  });

  it("with sandboxes that nobody knows, or that have ended, has them deleted there", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const ended = await world.running(template);
    const kept = await world.running(template);
    await world.done(await world.on("delete", ended.id));
    agent.sandboxes.add(ended.id).add("sb_of_another_life");
    await world.beat(6_000, agent);
    await world.until(async () => agent.sandboxes.size === 1);
    expect(agent.sandboxes).toEqual(new Set([kept.id]));
    await world.until(async () => (await world.db.client.operation.count({ where: { state: "assigned" } })) === 0);
    expect((await world.sandbox([kept.id])).state).toBe("running");
  });
});
