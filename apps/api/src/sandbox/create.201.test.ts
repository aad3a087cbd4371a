// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile } from "../../tests/api-under-test.ts";

const t = apiForFile();
const template = { name: "swe", image: "registry.test/i@sha256:1" };

describe("POST /v1/sandboxes", () => {
  it("answers when it runs, with times and no null anywhere", async () => {
    const { ask } = await t().tenant();
    const made = await ask("POST", "/v1/templates", template);
    const created = await ask("POST", "/v1/sandboxes", {
      template: made.body.id,
      label: "one",
      labels: { step: "3" },
      egress: { mode: "none" },
    });
    expect(created).toMatchObject({
      status: 201,
      body: {
        id: expect.stringMatching(/^sb_[0-9a-f]{24}$/),
        session_id: created.body.id,
        template_id: made.body.id,
        state: "running",
        label: "one",
        labels: { step: "3" },
        fork_time_ms: 7.5,
        exec_count: 0,
        parent_id: "",
        group_id: "",
        endpoints: { "8000": "10.0.0.1:8000" },
        error: "",
      },
    });
    expect(created.body.create_time_ms).toBeGreaterThan(0);
    expect(Object.entries(created.body).filter(([, value]) => value === null)).toEqual([]);
    expect((await ask("GET", `/v1/sandboxes/${created.body.id}`)).body).toMatchObject({ id: created.body.id, state: "running" });
    const row = await t().database.client.sandbox.findUniqueOrThrow({ where: { id: created.body.id } });
    expect(row.egress).toEqual({ mode: "none" });
  });

  it("gives a demo key no network, also where a catalog template has one", async () => {
    const owner = await t().tenant("pro");
    const made = await owner.ask("POST", "/v1/templates", { name: "web", image: "registry.test/w", ready: { network: true } });
    await t().api.services.tenants.setVisibility(made.body.id, "public");
    const created = await (await t().tenant("demo")).ask("POST", "/v1/sandboxes", { template: made.body.id });
    expect(created.status).toBe(201);
    const row = await t().database.client.sandbox.findUniqueOrThrow({ where: { id: created.body.id } });
    expect(row.egress).toEqual({ mode: "none" });
  });

  it("takes the template's name, and waits for its bake", async () => {
    const { ask } = await t().tenant();
    t().placement.answer = (operation) => (operation.kind === "bake" ? "leave" : undefined);
    const made = await ask("POST", "/v1/templates", template);
    const creating = ask("POST", "/v1/sandboxes", { template: "swe" });
    const bake = await t().database.client.operation.findFirstOrThrow({ where: { templateId: made.body.id } });
    await t().placement.finish(bake);
    expect(await creating).toMatchObject({ status: 201, body: { template_id: made.body.id } });
  });

  it("is the caller's from the answer on: no lease is left that could end it", async () => {
    const { ask } = await t().tenant();
    await ask("POST", "/v1/templates", template);
    const created = await ask("POST", "/v1/sandboxes", { template: "swe" });
    const operation = await t().database.client.operation.findFirstOrThrow({ where: { sandboxIds: { has: created.body.id } } });
    expect(operation).toMatchObject({ kind: "create", state: "done", waiterUntil: null });
  });
});

describe("an Idempotency-Key", () => {
  it("makes one sandbox of two equal requests, at once or later", async () => {
    const { ask, tenantId } = await t().tenant();
    await ask("POST", "/v1/templates", template);
    const create = () => ask("POST", "/v1/sandboxes", { template: "swe" }, { "idempotency-key": "k-1" });
    const [a, b] = await Promise.all([create(), create()]);
    const c = await create();
    expect([a.status, b.status, c.status]).toEqual([201, 201, 201]);
    expect(new Set([a.body.id, b.body.id, c.body.id]).size).toBe(1);
    expect(await t().database.client.sandbox.count({ where: { tenantId } })).toBe(1);
  });

  it("is refused with another body, and is another tenant's own affair", async () => {
    const { ask } = await t().tenant();
    await ask("POST", "/v1/templates", template);
    const first = await ask("POST", "/v1/sandboxes", { template: "swe" }, { "idempotency-key": "k-2" });
    expect(await ask("POST", "/v1/sandboxes", { template: "swe", label: "x" }, { "idempotency-key": "k-2" })).toMatchObject({
      status: 422,
      body: { code: "idempotency_key_reused" },
    });
    const other = await t().tenant();
    await other.ask("POST", "/v1/templates", template);
    const theirs = await other.ask("POST", "/v1/sandboxes", { template: "swe" }, { "idempotency-key": "k-2" });
    expect(theirs.status).toBe(201);
    expect(theirs.body.id).not.toBe(first.body.id);
  });

  it("is free again when what it asked for failed in a way that may be tried again", async () => {
    const { ask } = await t().tenant();
    await ask("POST", "/v1/templates", template);
    t().placement.answer = (operation) =>
      operation.kind === "create" ? { code: "create_failed", message: "the node ran out of slots" } : undefined;
    const create = () => ask("POST", "/v1/sandboxes", { template: "swe" }, { "idempotency-key": "k-3" });
    expect(await create()).toMatchObject({
      status: 500,
      body: { code: "create_failed", retryable: true, message: "the node ran out of slots" },
    });
    t().placement.answer = () => undefined;
    expect((await create()).status).toBe(201);
  });

  it("with an impossible value is a bad request that names it", async () => {
    const { ask } = await t().tenant();
    const answer = await ask("POST", "/v1/sandboxes", { template: "swe" }, { "idempotency-key": "a b" });
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringMatching(/^Idempotency-Key: /) } });
  });
});
