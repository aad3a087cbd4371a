// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile } from "../../tests/api-under-test.ts";
import type { ApiUnderTest } from "../../tests/api-under-test.ts";

const t = apiForFile();

const body = { name: "swe", image: "registry.test/i@sha256:1", pool: { width: 64 }, ready: { cmd: "true" } };

/** Polls as clients do. */
async function settled(ask: Awaited<ReturnType<ApiUnderTest["tenant"]>>["ask"], id: string) {
  return expect.poll(async () => (await ask("GET", `/v1/templates/${id}`)).body);
}

describe("POST /v1/templates", () => {
  it("bakes, and the status converges with every field that clients read", async () => {
    const { ask } = await t().tenant();
    const made = await ask("POST", "/v1/templates", body);
    expect(made).toMatchObject({
      status: 201,
      body: { name: "swe", image: body.image, phase: "Pending", declared: 64, converge_state: "converging" },
    });
    await (
      await settled(ask, made.body.id)
    ).toMatchObject({
      id: made.body.id,
      phase: "Live",
      declared: 64,
      warm: 2,
      frozen: 1,
      build_fails: 0,
      converge_state: "converged",
      bake_mode: "built",
      error: "",
      per_node: [{ node: "node_test", warm: 2, frozen: 1 }],
      resources: { vcpus: 1, memory_mib: 4096 },
    });
  });

  it("gives the same template for the same body sent again, and one bake", async () => {
    const { ask, tenantId } = await t().tenant();
    const reordered = { ready: { cmd: "true" }, pool: { width: 128 }, image: body.image, name: "swe" };
    const [a, b, c] = await Promise.all([
      ask("POST", "/v1/templates", body),
      ask("POST", "/v1/templates", body),
      ask("POST", "/v1/templates", reordered),
    ]);
    expect([b.body.id, c.body.id]).toEqual([a.body.id, a.body.id]);
    expect(await t().database.client.operation.count({ where: { tenantId, kind: "bake" } })).toBe(1);
    const again = await ask("POST", "/v1/templates", reordered);
    expect(again.body).toMatchObject({ id: a.body.id, declared: 128 });
  });

  it("makes a new version for another body, and the name finds the newest live one", async () => {
    const { ask } = await t().tenant();
    const first = await ask("POST", "/v1/templates", body);
    await (await settled(ask, first.body.id)).toMatchObject({ phase: "Live" });
    t().placement.answer = (operation) => (operation.kind === "bake" ? "leave" : undefined);
    const second = await ask("POST", "/v1/templates", { ...body, ready: { cmd: "false" } });
    expect(second.body.id).not.toBe(first.body.id);
    expect((await ask("GET", "/v1/templates/swe")).body.id).toBe(first.body.id);
    t().placement.answer = () => undefined;
    const baking = await t().database.client.operation.findFirstOrThrow({ where: { templateId: second.body.id } });
    await t().placement.finish(baking);
    expect((await ask("GET", "/v1/templates/swe")).body.id).toBe(second.body.id);
  });

  it("says why a bake failed, and bakes the same body again when asked again", async () => {
    const { ask } = await t().tenant();
    t().placement.answer = (operation) =>
      operation.kind === "bake" ? { code: "bake_failed", message: "the ready command gave 3", detail: "no module named x" } : undefined;
    const made = await ask("POST", "/v1/templates", body);
    await (
      await settled(ask, made.body.id)
    ).toMatchObject({ phase: "Failed", build_fails: 1, error: "the ready command gave 3\nno module named x", error_code: "bake_failed" });
    const create = await ask("POST", "/v1/sandboxes", { template: made.body.id });
    expect(create).toMatchObject({ status: 422, body: { code: "bake_failed", retryable: false } });
    expect(create.body.message).toContain("no module named x");
    t().placement.answer = () => undefined;
    const again = await ask("POST", "/v1/templates", body);
    expect(again.body).toMatchObject({ id: made.body.id, phase: "Pending", error: "" });
    await (await settled(ask, made.body.id)).toMatchObject({ phase: "Live", error: "" });
  });

  it("gives a demo key the catalog's own template", async () => {
    const pro = await t().tenant("pro");
    const demo = await t().tenant("demo");
    const made = await pro.ask("POST", "/v1/templates", { name: "catalog-py", image: "registry.test/catalog@sha256:2" });
    await t().api.services.tenants.setVisibility(made.body.id, "public");
    const registered = await demo.ask("POST", "/v1/templates", {
      name: "mine",
      image: "registry.test/catalog@sha256:2",
      pool: { width: 1000 },
    });
    expect(registered).toMatchObject({ status: 201, body: { id: made.body.id, visibility: "public", declared: 0 } });
  });
});
