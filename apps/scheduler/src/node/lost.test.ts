// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";

describe("a node that is heard of no more", () => {
  it("is lost with its sandboxes, whose meters end at its last heartbeat", async () => {
    await using world = await World.open({ nodeLostMs: 60_000 });
    await world.scheduler();
    const agent = await world.agent("node_a");
    const start = world.now();
    const sandbox = await world.running(await world.bakedTemplate());
    await world.beat(5_000, agent);
    await agent.stop();
    world.pass(61_000);
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "failed");
    expect(await world.node("node_a")).toMatchObject({ state: "lost", reservedMib: 0 });
    expect(await world.sandbox([sandbox.id])).toMatchObject({ error: "node node_a was lost" });
    expect(await world.metered(sandbox.id, start)).toEqual([[0, 5_000]]);
    await world.done(await world.on("delete", sandbox.id)); // needs no node
  });

  it("gives its creates to another node and fails its forks", async () => {
    await using world = await World.open();
    await world.scheduler();
    const first = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const parent = await world.running(template);
    const letGo = [first.hold("create"), first.hold("fork")];
    const create = await world.create(template);
    const fork = await world.fork(parent, 2);
    await Promise.all([first.next("create"), first.next("fork")]);
    const second = await world.agent("node_b", { snapshots: [[template.snapshotId ?? "", template.id]] });
    await world.beat(61_000, second);
    await world.done(create);
    expect(await world.sandbox(create.sandboxIds)).toMatchObject({ state: "running", nodeId: "node_b" });
    expect(await world.failure(fork)).toMatchObject({ code: "fork_failed" });
    expect((await world.sandboxes(fork.sandboxIds)).map((child) => child.state)).toEqual(["deleted", "deleted"]);
    for (const release of letGo) release();
  });

  it("has what still lives on it deleted when it comes back", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const sandbox = await world.running(await world.bakedTemplate());
    world.pass(61_000);
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "failed");
    await world.beat(10_000, agent);
    expect((await world.node("node_a")).state).toBe("live");
    await world.until(async () => agent.sandboxes.size === 0);
    expect((await world.sandbox([sandbox.id])).state).toBe("failed");
  });
});
