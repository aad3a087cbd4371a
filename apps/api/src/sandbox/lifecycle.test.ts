// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";

const t = apiForFile();

describe("suspend and resume", () => {
  it("change the state, and repeating either changes nothing", async () => {
    const { ask, tenantId } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    const step = (what: string) => ask("POST", `/v1/sandboxes/${sandbox}/${what}`, {});
    expect(await step("suspend")).toMatchObject({ status: 200, body: { id: sandbox, state: "suspended" } });
    expect(await step("suspend")).toMatchObject({ status: 200, body: { state: "suspended" } });
    expect(await step("resume")).toMatchObject({ status: 200, body: { state: "running" } });
    expect(await step("resume")).toMatchObject({ status: 200, body: { state: "running" } });
    expect(await t().database.client.operation.count({ where: { tenantId, kind: { in: ["suspend", "resume"] } } })).toBe(2);
  });
  it("asked for twice at once suspend once", async () => {
    const { ask, tenantId } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask("POST", `/v1/sandboxes/${sandbox}/suspend`, {})));
    expect(answers.map((answer) => [answer.status, answer.body.state])).toEqual(Array.from({ length: 4 }, () => [200, "suspended"]));
    expect(await t().database.client.operation.count({ where: { tenantId, kind: "suspend" } })).toBe(1);
  });
});

describe("DELETE /v1/sandboxes/{id}", () => {
  it("takes a JSON content type without a body, as published clients send it", async () => {
    const { ask } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    const answer = await ask("DELETE", `/v1/sandboxes/${sandbox}`, undefined, { "content-type": "application/json" });
    expect(answer).toMatchObject({ status: 200, body: { deleted: true, id: sandbox, state: "deleted" } });
    expect(await ask("GET", `/v1/sandboxes/${sandbox}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await ask("DELETE", `/v1/sandboxes/${sandbox}`)).status).toBe(404);
  });
  it("twice at once is one deletion", async () => {
    const { ask, tenantId } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    const answers = await Promise.all([ask("DELETE", `/v1/sandboxes/${sandbox}`), ask("DELETE", `/v1/sandboxes/${sandbox}`)]);
    for (const answer of answers) expect([200, 404]).toContain(answer.status);
    expect(await t().database.client.operation.count({ where: { tenantId, kind: "delete" } })).toBe(1);
  });
  it("of another tenant's sandbox is 404 and leaves it alone", async () => {
    const owner = await t().tenant();
    const { sandbox } = await sandboxOf(owner.ask);
    const { ask } = await t().tenant();
    expect(await ask("DELETE", `/v1/sandboxes/${sandbox}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await owner.ask("GET", `/v1/sandboxes/${sandbox}`)).body.state).toBe("running");
  });
  it("of one that waits for room cancels its create, and the waiting request is told", async () => {
    const { ask, tenantId } = await t().tenant();
    const { template } = await sandboxOf(ask);
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const creating = ask("POST", "/v1/sandboxes", { template });
    await once(t().placement.dealt, "create");
    const queued = await t().database.client.sandbox.findFirstOrThrow({ where: { tenantId, state: "requested" } });
    expect(await ask("DELETE", `/v1/sandboxes/${queued.id}`)).toMatchObject({ status: 200, body: { deleted: true, state: "deleted" } });
    expect(await creating).toMatchObject({ status: 410, body: { code: "session_gone" } });
  });
});

describe("GET /v1/sandboxes", () => {
  it("lists what is not deleted, oldest first, and only one's own", async () => {
    const { ask } = await t().tenant();
    const { sandbox, template } = await sandboxOf(ask);
    const second = await ask("POST", "/v1/sandboxes", { template });
    const gone = await ask("POST", "/v1/sandboxes", { template });
    await ask("DELETE", `/v1/sandboxes/${gone.body.id}`);
    await sandboxOf((await t().tenant()).ask);
    expect((await ask("GET", "/v1/sandboxes")).body.sandboxes.map((row: { id: string }) => row.id)).toEqual([sandbox, second.body.id]);
  });
});

describe("POST /v1/sandboxes/{id}/connect-url", () => {
  it("says what stands in the way: 400, 404, 409, and that there is no tunnel yet", async () => {
    const { ask } = await t().tenant();
    const made = await ask("POST", "/v1/templates", { name: "web", image: "registry.test/w", ready: { ports: [8000] } });
    const { body } = await ask("POST", "/v1/sandboxes", { template: made.body.id });
    const connect = (id: string, port: unknown) => ask("POST", `/v1/sandboxes/${id}/connect-url`, { port, ttl_seconds: 600 });
    expect(await connect(body.id, 0)).toMatchObject({ status: 400, body: { message: expect.stringMatching(/^port: /) } });
    expect(await connect("sb_none", 8000)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await connect(body.id, 9000)).toMatchObject({ status: 409, body: { code: "port_not_exposed" } });
    expect(await connect(body.id, 8000)).toMatchObject({ status: 501, body: { code: "not_implemented" } });
  });
});
