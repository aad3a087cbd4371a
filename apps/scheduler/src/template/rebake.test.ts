// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { SimulatedFailure } from "@collimate/testing";
import { World } from "../testing/world.ts";

const FAILURE = { code: "snapshot_incompatible", message: "it was taken under another kernel" } as const;

describe("a template whose snapshot is of no use", () => {
  it("is baked again by itself, and the create that met it waits and runs", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    agent.before("create", async (job) => {
      if (job.kind === "create" && job.snapshotId === template.snapshotId) throw new SimulatedFailure(FAILURE);
    });
    const sandbox = await world.running(template);
    expect(agent.jobs.map((job) => job.kind)).toEqual(["bake", "create", "bake", "create"]);
    const again = await world.db.client.template.findUniqueOrThrow({ where: { id: template.id } });
    expect(again.phase).toBe("Live");
    expect(again.snapshotId).not.toBe(template.snapshotId);
    expect(sandbox.state).toBe("running");
  });

  it("is given up after some bakes that help nothing", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    agent.fail("create", FAILURE);
    const operation = await world.create(template);
    await expect.poll(async () => (await world.operation(operation)).state, { timeout: 20_000 }).toBe("failed");
    expect(agent.jobs.filter((job) => job.kind === "bake")).toHaveLength(4);
  });
});

describe("a template's node without room", () => {
  it("leaves a create to another node like it, if the registry has the snapshot", async () => {
    await using world = await World.open();
    await world.scheduler();
    const full = await world.agent("node_a", { slots: 1 });
    const template = await world.bakedTemplate();
    await world.running(template);
    const other = await world.agent("node_b", { memoryMib: 1_000 });
    await world.beat(1_000, full, other);
    const waits = await world.create(template);
    await expect.poll(async () => (await world.operation(waits)).state).toBe("queued");
    full.pushes = true;
    // Such a node fetches it; the simulated one has it all of a sudden.
    other.snapshots.set(template.snapshotId ?? "", { templateId: template.id, warm: 0, frozen: 1 });
    await world.beat(1_000, full);
    await world.done(waits);
    expect(other.sandboxes.size).toBe(1);
  });
});
