// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { World } from "../testing/world.ts";
import { applyReport } from "./apply.ts";

describe("reports that come twice, late, or from the wrong node", () => {
  it("change nothing the second time", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    agent.repeatsReports = true;
    const template = await world.bakedTemplate();
    const sandbox = await world.running(template);
    const fork = await world.fork(sandbox, 3);
    await world.done(fork);
    world.pass(500);
    await world.done(await world.on("suspend", sandbox.id));
    await world.done(await world.on("resume", sandbox.id));
    await world.done(await world.on("delete", ...fork.sandboxIds));
    const open = await world.metered(sandbox.id, world.now());
    expect(open).toEqual([
      [-500, 0],
      [0, null],
    ]);
    expect(await world.db.client.meterInterval.count()).toBe(2 + 3);
    expect(await world.liveCount()).toBe(1);
    const versions = await world.db.client.operation.findMany({ where: { kind: { not: "delete" } }, select: { version: true } });
    expect(versions.every((row) => row.version === 2)).toBe(true);
  });

  it("count execs once", async () => {
    await using world = await World.open();
    const { ctx } = await world.scheduler();
    await world.agent("node_a");
    const sandbox = await world.running(await world.bakedTemplate());
    const at = world.pass(100).getTime();
    const report = { kind: "activity", nodeId: "node_a", at, execs: [{ sandboxId: sandbox.id, count: 3, lastAt: at }] } as const;
    expect(await applyReport(ctx, { ...report, execs: [...report.execs] })).toBe("applied");
    expect(await applyReport(ctx, { ...report, execs: [...report.execs] })).toBe("stale");
    expect(await world.sandbox([sandbox.id])).toMatchObject({ execCount: 3, lastActiveAt: new Date(at) });
  });

  it("are ignored when the operation is another node's, or has ended, or never was", async () => {
    await using world = await World.open();
    const { ctx } = await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    const release = agent.hold("create");
    const operation = await world.create(template);
    await agent.next("create");
    const result = { kind: "create", sandboxId: operation.sandboxIds[0]!, startedAt: 1, forkTimeMs: 1, endpoints: {} } as const;
    const report = { kind: "finished", operationId: operation.id, at: 2, result } as const;
    expect(await applyReport(ctx, { ...report, nodeId: "node_other" })).toBe("stale");
    expect(await applyReport(ctx, { ...report, nodeId: "node_a", operationId: "op_unknown" })).toBe("stale");
    expect(await applyReport(ctx, { ...report, nodeId: "node_a" })).toBe("applied");
    expect(await applyReport(ctx, { ...report, nodeId: "node_a" })).toBe("stale");
    expect(
      await applyReport(ctx, {
        kind: "failed",
        nodeId: "node_a",
        operationId: operation.id,
        at: 3,
        failure: { code: "internal", message: "late" },
      }),
    ).toBe("stale");
    expect((await world.sandbox(operation.sandboxIds)).state).toBe("running");
    release();
  });

  it("end every operation exactly once under two schedulers", async () => {
    await using world = await World.open();
    await world.scheduler();
    await world.scheduler();
    const agent = await world.agent("node_a", { slots: 40 });
    agent.repeatsReports = true;
    const template = await world.bakedTemplate();
    const operations = await Promise.all(Array.from({ length: 30 }, () => world.create(template)));
    for (const operation of operations) await world.done(operation);
    const rows = await world.db.client.operation.findMany({ where: { id: { in: operations.map((one) => one.id) } } });
    // One step for the assignment and one for the end, never more.
    expect(rows.map((row) => row.version)).toEqual(rows.map(() => 2));
    expect(agent.jobs.filter((job) => job.kind === "create")).toHaveLength(30);
    expect(await world.db.client.meterInterval.count()).toBe(30);
    expect(agent.sandboxes.size).toBe(30);
  });
});
