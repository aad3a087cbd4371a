// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";

describe("a fork", () => {
  it("makes all children on the parent's node, with their seeds and in their order", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const parent = await world.running(await world.bakedTemplate());
    const operation = await world.fork(parent, 8);
    await world.done(operation);
    const children = await world.sandboxes(operation.sandboxIds);
    expect(children.map((child) => [child.state, child.nodeId])).toEqual(Array.from({ length: 8 }, () => ["running", "node_a"]));
    expect(agent.jobs.at(-1)).toMatchObject({
      kind: "fork",
      parentId: parent.id,
      children: operation.sandboxIds.map((sandboxId) => ({ sandboxId, seed: "ab".repeat(32) })),
    });
    expect((await world.operation(operation)).result).toMatchObject({ kind: "fork", pauseMs: 2, forkTimeMs: 9 });
  });

  it("that fails leaves no child, and the parent lives on", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const parent = await world.running(await world.bakedTemplate());
    agent.fail("fork", { code: "fork_failed", message: "the third child did not start" });
    const operation = await world.fork(parent, 4);
    expect((await world.failure(operation)).code).toBe("fork_failed");
    expect((await world.sandboxes(operation.sandboxIds)).map((child) => child.state)).toEqual(["deleted", "deleted", "deleted", "deleted"]);
    expect((await world.sandbox([parent.id])).state).toBe("running");
    expect(await world.db.client.meterInterval.count({ where: { sandboxId: { in: operation.sandboxIds } } })).toBe(0);
  });

  it("of which a node reports too few children keeps none", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const parent = await world.running(await world.bakedTemplate());
    const release = agent.hold("fork");
    const operation = await world.fork(parent, 3);
    await agent.next("fork");
    const [first] = operation.sandboxIds;
    agent.sandboxes.add(first!);
    await agent.report({
      kind: "finished",
      nodeId: "node_a",
      operationId: operation.id,
      at: world.now().getTime(),
      result: {
        kind: "fork",
        parentId: parent.id,
        snapshotId: "snp_f",
        pauseMs: 1,
        forkTimeMs: 1,
        children: [{ sandboxId: first!, startedAt: world.now().getTime(), endpoints: {} }],
      },
    });
    expect((await world.failure(operation)).code).toBe("fork_failed");
    await world.until(async () => (await world.sandboxes(operation.sandboxIds)).every((child) => child.state === "deleted"));
    expect(agent.sandboxes).toEqual(new Set([parent.id]));
    release();
  });

  it("takes room for all or waits", async () => {
    await using world = await World.open();
    const scheduler = await world.scheduler();
    const agent = await world.agent("node_a", { slots: 5 });
    const template = await world.bakedTemplate();
    const parent = await world.running(template);
    const other = await world.running(template);
    await world.beat(1_000, agent);
    const operation = await world.fork(parent, 4);
    await scheduler.placeAll();
    expect((await world.operation(operation)).state).toBe("queued");
    expect(await world.node("node_a")).toMatchObject({ reservedSlots: 0 });
    world.pass(5);
    await world.on("delete", other.id);
    await world.done(operation);
  });

  it("wider than its node is refused at once", async () => {
    await using world = await World.open();
    await world.scheduler();
    await world.agent("node_a", { slots: 5 });
    const parent = await world.running(await world.bakedTemplate());
    expect(await world.failure(await world.fork(parent, 6))).toMatchObject({
      code: "does_not_fit",
      message: expect.stringContaining("5 slots"),
    });
  });

  it("of a sandbox that is gone or suspended says so", async () => {
    await using world = await World.open();
    await world.scheduler();
    await world.agent("node_a");
    const template = await world.bakedTemplate();
    const deleted = await world.running(template);
    await world.done(await world.on("delete", deleted.id));
    expect((await world.failure(await world.fork(deleted, 2))).code).toBe("session_gone");
    const suspended = await world.running(template);
    await world.done(await world.on("suspend", suspended.id));
    expect((await world.failure(await world.fork(suspended, 2))).code).toBe("conflict");
  });
});
