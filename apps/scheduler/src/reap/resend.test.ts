// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { flushRedis, startStack } from "@collimate/testing";
import { World } from "../testing/world.ts";

describe("a Redis that lost everything", () => {
  it("costs no operation: neither one that waits nor one that is on a node", async () => {
    await using stack = await startStack("redis"); // of its own: what follows would hurt others
    await using world = await World.open({}, { REDIS_URL: stack.redis.url });
    await world.scheduler();
    const agent = await world.agent("node_a", { slots: 2 });
    const template = await world.bakedTemplate();
    const running = await world.running(template);
    await world.running(template);
    await world.beat(1_000, agent);
    const waiting = await world.create(template);
    await agent.stop();
    const suspend = await world.on("suspend", running.id);
    await world.until(async () => (await world.operation(suspend)).state === "assigned");
    await flushRedis(stack.redis.url);

    const same = await world.agent("node_a", {
      slots: 2,
      snapshots: [[template.snapshotId ?? "", template.id]],
      sandboxes: [...agent.sandboxes],
    });
    await world.beat(3_000, same);
    await world.done(suspend);
    await world.beat(1_000, same);
    await world.done(waiting);
    expect((await world.sandbox([running.id])).state).toBe("suspended");
  });

  it("that lost a report has the node asked again, which answers without doing it twice", async () => {
    await using world = await World.open();
    await world.scheduler();
    const agent = await world.agent("node_a");
    const template = await world.bakedTemplate();
    agent.losesReports = 1;
    const create = await world.create(template);
    await world.until(async () => (await world.queues.nodeQueue("node_a").state(create.id, 0)) === "ended");
    expect((await world.operation(create)).state).toBe("assigned");
    world.pass(31_000);
    await world.done(create);
    expect(agent.jobs.filter((job) => job.kind === "create")).toHaveLength(2);
    expect(agent.sandboxes.size).toBe(1);
  });
});
