// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";

describe("metered time", () => {
  it("is exactly the time in which a sandbox ran, by the agent's clock", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const start = world.pass(1_000);
    const sandbox = await world.running(template);
    world.pass(12_345);
    await world.done(await world.on("suspend", sandbox.id));
    expect(await world.sandbox([sandbox.id])).toMatchObject({ state: "suspended", snapshotId: expect.stringMatching(/^snp_/) });
    await world.beat(100_000, agent); // costs nothing
    await world.done(await world.on("resume", sandbox.id));
    world.pass(777);
    await world.done(await world.on("delete", sandbox.id));
    expect(await world.metered(sandbox.id, start)).toEqual([
      [0, 12_345],
      [112_345, 113_122],
    ]);
    expect(await world.db.client.meterInterval.findFirst({ where: { sandboxId: sandbox.id } })).toMatchObject({
      vcpus: 2,
      memoryMib: 512,
      tenantId: "ten_a",
    });
    expect(await world.sandbox([sandbox.id])).toMatchObject({ state: "deleted", endedAt: world.now() });
  });

  it("of every child of a group begins with that child", async () => {
    await using world = await World.open();
    await world.scheduler();
    await world.agent("node_a");
    const parent = await world.running(await world.bakedTemplate());
    const start = world.pass(50);
    const fork = await world.fork(parent, 3);
    await world.done(fork);
    world.pass(2_000);
    await world.done(await world.on("delete", ...fork.sandboxIds));
    for (const id of fork.sandboxIds) expect(await world.metered(id, start)).toEqual([[0, 2_000]]);
    expect(await world.metered(parent.id, start)).toEqual([[-50, null]]);
  });

  it("ends when a sandbox dies by itself", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const start = world.now();
    const sandbox = await world.running(await world.bakedTemplate());
    world.pass(4_000);
    await agent.exit(sandbox.id, "memory ran out");
    await world.until(async () => (await world.sandbox([sandbox.id])).state === "failed");
    expect(await world.sandbox([sandbox.id])).toMatchObject({ error: "memory ran out", endedAt: world.now() });
    expect(await world.metered(sandbox.id, start)).toEqual([[0, 4_000]]);
  });
});
