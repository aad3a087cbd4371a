// SPDX-License-Identifier: Apache-2.0
/** No room within the time that a request is held, or nobody left to answer: nothing is kept. */
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { apiForFile } from "../../tests/api-under-test.ts";
import { abandon } from "../operation/abandon.ts";

const t = apiForFile({ holdMs: 2_500 });

async function tenantWithTemplate() {
  const tenant = await t().tenant();
  await tenant.ask("POST", "/v1/templates", { name: "swe", image: "registry.test/i@sha256:1" });
  await expect.poll(async () => (await tenant.ask("GET", "/v1/templates/swe")).body.phase).toBe("Live");
  return tenant;
}

describe("a create that finds no room", () => {
  it("answers at_capacity with Retry-After, and the operation and its sandbox are ended", async () => {
    const { ask, tenantId } = await tenantWithTemplate();
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const answer = await ask("POST", "/v1/sandboxes", { template: "swe" });
    expect(answer).toMatchObject({ status: 503, body: { code: "at_capacity", retryable: true } });
    expect(answer.headers.get("retry-after")).toBe("1");
    const operation = await t().database.client.operation.findFirstOrThrow({ where: { tenantId, kind: "create" } });
    expect(operation).toMatchObject({ state: "failed", waiterUntil: null });
    expect(await t().database.client.sandbox.findMany({ where: { tenantId }, select: { state: true } })).toEqual([{ state: "deleted" }]);
    expect((await ask("GET", "/v1/sandboxes")).body).toEqual({ sandboxes: [] });
  });

  it("with a key goes on, and the same request finds it again", async () => {
    const { ask, tenantId } = await tenantWithTemplate();
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const create = () => ask("POST", "/v1/sandboxes", { template: "swe" }, { "idempotency-key": "slow" });
    expect(await create()).toMatchObject({ status: 504, body: { code: "operation_timeout", retryable: true } });
    t().placement.answer = () => undefined;
    await t().placement.finish(await t().database.client.operation.findFirstOrThrow({ where: { tenantId, kind: "create" } }));
    expect((await create()).status).toBe(201);
    expect(await t().database.client.sandbox.count({ where: { tenantId } })).toBe(1);
  });

  it("that is already on a node is let finish, on a lapsed lease that has the scheduler delete what came of it", async () => {
    const { ask, tenantId } = await tenantWithTemplate();
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const creating = ask("POST", "/v1/sandboxes", { template: "swe" });
    await once(t().placement.dealt, "create");
    await t().database.client.operation.updateMany({
      where: { tenantId, kind: "create" },
      data: { state: "assigned", nodeId: "node_test" },
    });
    expect(await creating).toMatchObject({ status: 503, body: { code: "at_capacity" } });
    const operation = await t().database.client.operation.findFirstOrThrow({ where: { tenantId, kind: "create" } });
    expect(operation.state).toBe("assigned");
    expect(operation.waiterUntil?.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it("that was done just as the patience ended is deleted at once", async () => {
    const { ask, tenantId } = await tenantWithTemplate();
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const creating = ask("POST", "/v1/sandboxes", { template: "swe" }).catch(() => undefined);
    await once(t().placement.dealt, "create");
    const operation = await t().database.client.operation.findFirstOrThrow({ where: { tenantId, kind: "create" } });
    await t().placement.finish(operation);
    await creating;
    await abandon(
      { config: t().config, database: t().database, bus: t().queues, log: t().log, stopping: new AbortController().signal },
      operation,
    );
    await expect
      .poll(() => t().database.client.sandbox.findMany({ where: { tenantId }, select: { state: true } }))
      .toEqual([{ state: "deleted" }]);
  });
});

describe("a caller that leaves", () => {
  it("before there was room: the queued create is cancelled", async () => {
    const { apiKey, tenantId } = await tenantWithTemplate();
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const leave = new AbortController();
    const creating = fetch(`${t().api.url}/v1/sandboxes`, {
      method: "POST",
      signal: leave.signal,
      body: '{"template":"swe"}',
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    });
    await once(t().placement.dealt, "create");
    leave.abort();
    await expect(creating).rejects.toThrow(/abort/);
    await expect
      .poll(() => t().database.client.sandbox.findMany({ where: { tenantId }, select: { state: true } }))
      .toEqual([{ state: "deleted" }]);
    const operation = await t().database.client.operation.findFirstOrThrow({ where: { tenantId, kind: "create" } });
    expect(operation.state).toBe("failed");
  });
});
