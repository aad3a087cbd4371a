// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { sandboxOf, apiForFile } from "../../tests/api-under-test.ts";

const t = apiForFile();

describe("expect and release", () => {
  it("take the id or the name, may be repeated, and are clamped to the plan", async () => {
    const { ask } = await t().tenant();
    const made = await ask("POST", "/v1/templates", { name: "swe", image: "registry.test/x" });
    for (const reference of [made.body.id, "swe", "swe"]) {
      expect(await ask("POST", `/v1/templates/${reference}/expect`, { width: 50_000 })).toMatchObject({
        status: 200,
        body: { id: made.body.id, expected_width: 10_000 },
      });
    }
    expect(await ask("POST", `/v1/templates/swe/release`, {})).toMatchObject({ status: 200, body: { id: made.body.id, released: true } });
    expect((await ask("GET", "/v1/templates/swe")).body.declared).toBe(10_000);
  });
  it("answer 404 for a foreign template, just as for none", async () => {
    const owner = await t().tenant();
    const made = await owner.ask("POST", "/v1/templates", { name: "mine", image: "registry.test/x" });
    const { ask } = await t().tenant();
    for (const reference of [made.body.id, "mine", "tpl_none"]) {
      expect(await ask("POST", `/v1/templates/${reference}/expect`, { width: 1 })).toMatchObject({
        status: 404,
        body: { code: "not_found", error_code: "not_found", message: `no template ${reference}` },
      });
    }
  });
});

describe("DELETE /v1/templates/{id}", () => {
  it("is 409 while sandboxes live; then it is gone, and the nodes are told to drop it", async () => {
    const { ask } = await t().tenant();
    const { template, sandbox } = await sandboxOf(ask);
    expect(await ask("DELETE", `/v1/templates/${template}`)).toMatchObject({ status: 409, body: { code: "template_in_use" } });
    await ask("DELETE", `/v1/sandboxes/${sandbox}`);
    expect(await ask("DELETE", `/v1/templates/${template}`, undefined, { "content-type": "application/json" })).toMatchObject({
      status: 200,
      body: { deleted: true, id: template },
    });
    expect((await ask("GET", `/v1/templates/${template}`)).status).toBe(404);
    expect(await t().database.client.operation.count({ where: { templateId: template, kind: "drop_template" } })).toBe(1);
    expect((await ask("DELETE", `/v1/templates/${template}`)).status).toBe(404);
  });
  it("is 409 while another tenant has a sandbox of a catalog template", async () => {
    const owner = await t().tenant();
    const made = await owner.ask("POST", "/v1/templates", { name: "lent", image: "registry.test/lent" });
    await t().api.services.tenants.setVisibility(made.body.id, "public");
    const user = await t().tenant("demo");
    expect((await user.ask("POST", "/v1/sandboxes", { template: "lent" })).status).toBe(201);
    expect(await owner.ask("DELETE", `/v1/templates/${made.body.id}`)).toMatchObject({ status: 409, body: { code: "template_in_use" } });
  });
  it("ends a bake that no node has begun", async () => {
    const { ask } = await t().tenant();
    t().placement.answer = () => "leave";
    const made = await ask("POST", "/v1/templates", { name: "slow", image: "registry.test/slow" });
    expect((await ask("DELETE", `/v1/templates/${made.body.id}`)).status).toBe(200);
    t().placement.answer = () => undefined;
    const bake = await t().database.client.operation.findFirstOrThrow({ where: { templateId: made.body.id, kind: "bake" } });
    expect(bake.state).toBe("failed");
  });
});

describe("the lists", () => {
  it("show own templates and the catalog, never those of another tenant", async () => {
    const a = await t().tenant();
    const b = await t().tenant();
    const own = await a.ask("POST", "/v1/templates", { name: "own", image: "registry.test/own" });
    const shared = await b.ask("POST", "/v1/templates", { name: "shared", image: "registry.test/shared" });
    const secret = await b.ask("POST", "/v1/templates", { name: "secret", image: "registry.test/secret" });
    await t().api.services.tenants.setVisibility(shared.body.id, "public");
    for (const [path, key] of [
      ["/v1/templates", "templates"],
      ["/v1/images", "images"],
    ] as const) {
      const rows: { id: string; visibility: string }[] = (await a.ask("GET", path)).body[key];
      expect(rows.find((row) => row.id === own.body.id)?.visibility).toBe("private");
      expect(rows.find((row) => row.id === shared.body.id)?.visibility).toBe("public");
      expect(rows.find((row) => row.id === secret.body.id)).toBeUndefined();
    }
  });
});
