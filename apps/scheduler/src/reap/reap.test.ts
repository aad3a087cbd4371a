// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";

const MINUTE = 60_000;

describe("the reaper", () => {
  it("deletes a sandbox that has been idle for long, and none that is in use or has children at work", async () => {
    await using world = await World.open({ idleMs: 30 * MINUTE, nodeLostMs: 7 * 86_400_000, nodeFreshMs: 7 * 86_400_000 });
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const idle = await world.running(template);
    const busy = await world.running(template);
    const parent = await world.running(template);
    const fork = await world.fork(parent, 1);
    await world.done(fork);
    world.pass(20 * MINUTE);
    await agent.active(busy.id);
    await agent.active(fork.sandboxIds[0]!);
    await world.until(
      async () => (await world.sandbox([busy.id])).execCount === 1 && (await world.sandbox(fork.sandboxIds)).execCount === 1,
    );
    world.pass(11 * MINUTE);
    await world.until(async () => (await world.sandbox([idle.id])).state === "deleted");
    expect(await world.sandbox([idle.id])).toMatchObject({ error: "idle for more than 1800 s", endedAt: world.now() });
    const { reapIdle } = await import("./idle.ts");
    await reapIdle((await world.scheduler()).ctx);
    expect((await world.sandboxes([busy.id, parent.id, ...fork.sandboxIds])).map((row) => row.state)).toEqual([
      "running",
      "running",
      "running",
    ]);
  });

  it("fails an operation past its deadline and deletes what it was making", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const release = agent.hold("create");
    const operation = await world.create(template, { deadlineAt: new Date(world.now().getTime() + 5_000) });
    await agent.next("create");
    world.pass(5_001);
    expect(await world.failure(operation)).toMatchObject({ code: "operation_timeout" });
    release(); // the node makes it nevertheless, too late
    await world.until(async () => (await world.sandbox(operation.sandboxIds)).state === "deleted");
    await world.beat(6_000, agent);
    await world.until(async () => agent.sandboxes.size === 0);
    expect(await world.db.client.meterInterval.count()).toBe(0);
  });

  it("cancels a create that waits for room when its caller does not wait any more", async () => {
    await using world = await World.open();
    await world.scheduler();
    const template = await world.template("tpl_x", { phase: "Live", snapshotId: "snp_x" });
    const operation = await world.create(template, { waiterUntil: new Date(world.now().getTime() + 30_000) });
    const keyed = await world.create(template, { waiterUntil: new Date(world.now().getTime() + 600_000), idempotencyKey: "k" });
    world.pass(30_001);
    expect(await world.failure(operation)).toMatchObject({ code: "at_capacity" });
    await world.until(async () => (await world.sandbox(operation.sandboxIds)).state === "deleted");
    expect((await world.operation(keyed)).state).toBe("queued");
  });

  it("deletes what was made for a caller that never took the answer, and leaves what was taken", async () => {
    await using world = await World.open();
    await world.scheduler();
    await world.agent("node_a");
    const template = await world.bakedTemplate();
    const lease = { waiterUntil: new Date(world.now().getTime() + 10_000) };
    const [left, taken] = [await world.create(template, lease), await world.create(template, lease)];
    await world.done(left);
    await world.done(taken);
    await world.db.client.operation.update({ where: { id: taken.id }, data: { waiterUntil: null } });
    world.pass(10_001);
    await world.until(async () => (await world.sandbox(left.sandboxIds)).state === "deleted");
    expect((await world.sandbox(taken.sandboxIds)).state).toBe("running");
  });

  it("asks again for deletes that failed, until they get through", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const sandbox = await world.running(await world.bakedTemplate());
    agent.fail("delete", { code: "internal", message: "umount: busy" });
    expect((await world.failure(await world.on("delete", sandbox.id))).message).toBe("umount: busy");
    expect((await world.sandbox([sandbox.id])).state).toBe("deleting");
    agent.succeed("delete");
    await world.beat(31_000, agent);
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "deleted");
    expect(agent.sandboxes.size).toBe(0);
  });

  it("clears away failed sandboxes and the records of old operations in the end", async () => {
    await using world = await World.open({ failedKeptMs: MINUTE, operationsKeptMs: 10 * MINUTE, nodeLostMs: 7 * 86_400_000 });
    const { ctx } = await world.scheduler();
    const agent = await world.agent("node_a");
    const sandbox = await world.running(await world.bakedTemplate());
    await agent.exit(sandbox.id, "it died");
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "failed");
    world.pass(MINUTE + 1);
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "deleted");
    expect((await world.sandbox([sandbox.id])).error).toBe("it died");
    world.pass(11 * MINUTE);
    const { forgetOperations } = await import("./leftovers.ts");
    await forgetOperations(ctx);
    expect(await world.db.client.operation.count()).toBe(0);
    expect(await world.db.client.meterInterval.count()).toBe(1);
  });
});

describe("templates", () => {
  it("that are deleted go from the nodes, also when a bake ends after that", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    await world.db.client.template.update({ where: { id: template.id }, data: { deletedAt: world.now() } });
    await world.done(await world.request("drop_template", { templateId: template.id }));
    expect(agent.snapshots.size).toBe(0);

    const late = await world.template();
    const release = agent.hold("bake");
    const bake = await world.bake(late);
    await agent.next("bake");
    await world.db.client.template.update({ where: { id: late.id }, data: { deletedAt: world.now() } });
    release();
    await world.done(bake);
    await world.until(async () => agent.snapshots.size === 0 && (await world.db.client.nodeSnapshot.count()) === 0);
  });
});
