// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { World } from "../testing/world.ts";
import { applyHeartbeat } from "./heartbeat.ts";

it("sandboxes that a node made on its own surface are listed apart, and nobody deletes them", async () => {
  await using world = await World.open();
  const { ctx } = await world.scheduler();
  const agent = await world.agent("node_a");
  world.pass(1_000);
  const beat = { ...agent.heartbeat(), sandboxes: ["sb_stray"], localSandboxes: ["sb_local"] };
  expect(await applyHeartbeat(ctx, beat)).toBe("applied");
  const deletes = await world.db.client.operation.findMany({ where: { kind: "delete" } });
  expect(deletes.flatMap((operation) => operation.sandboxIds)).toEqual(["sb_stray"]);
  expect(await world.db.client.sandbox.count()).toBe(0);
});
