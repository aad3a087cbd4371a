// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile, askWith, sandboxOf } from "../../tests/api-under-test.ts";

const t = apiForFile();

describe("POST /v1/sandboxes", () => {
  it.each([
    [{}, /^template: /],
    [{ template: "x", labels: ["a"] }, /^labels: /],
    [{ template: "x", egress: { mode: "closed" } }, /^egress\.mode: /],
  ])("400 names the field of %o", async (body, message) => {
    const { ask } = await t().tenant();
    const answer = await ask("POST", "/v1/sandboxes", body);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request", message: expect.stringMatching(message) } });
  });

  it("501 for a policy that nobody would enforce: the template has a network", async () => {
    const { ask } = await t().tenant();
    const made = await ask("POST", "/v1/templates", { name: "net", image: "registry.test/n", ready: { network: true } });
    for (const egress of [{ allow: ["example.org"] }, { mode: "denylist", deny: [] }, { preset: "rl-leakage" }])
      expect(await ask("POST", "/v1/sandboxes", { template: made.body.id, egress })).toMatchObject({
        status: 501,
        body: { code: "not_implemented", message: expect.stringMatching(/^egress: /) },
      });
    for (const egress of [undefined, {}, { mode: "open" }, { mode: "none" }])
      expect(await ask("POST", "/v1/sandboxes", { template: made.body.id, egress })).toMatchObject({ status: 201 });
  });

  it("401 for no key, a malformed one, an unknown one and one with a wrong secret, in the same words", async () => {
    const { apiKey } = await t().tenant();
    const wrong = `${apiKey.slice(0, -1)}${apiKey.endsWith("a") ? "b" : "a"}`;
    for (const key of ["nonsense", `col_pro_aaaaaaaa_${"0".repeat(32)}`, wrong]) {
      const answer = await askWith(t().api.url, key)("POST", "/v1/sandboxes", { template: "x" });
      expect(answer).toMatchObject({
        status: 401,
        body: { code: "unauthorized", message: "this API key is not known, was revoked or has expired" },
      });
    }
    const none = await askWith(t().api.url, undefined)("POST", "/v1/sandboxes", { template: "x" });
    expect(none).toMatchObject({ status: 401, body: { code: "unauthorized", error_code: "unauthorized" } });
    expect(none.headers.get("www-authenticate")).toBe("Bearer");
  });

  it("404 for an unknown template, and for another tenant's by id or name", async () => {
    const owner = await t().tenant();
    const made = await owner.ask("POST", "/v1/templates", { name: "private-thing", image: "registry.test/x" });
    const { ask } = await t().tenant();
    for (const template of ["tpl_none", made.body.id, "private-thing"]) {
      expect(await ask("POST", "/v1/sandboxes", { template })).toMatchObject({
        status: 404,
        body: { code: "not_found", message: `no template ${template}` },
      });
    }
  });

  it("403 when a demo key has all its sandboxes, and room again after a delete", async () => {
    const pro = await t().tenant();
    const made = await pro.ask("POST", "/v1/templates", { name: "shared", image: "registry.test/s" });
    await t().api.services.tenants.setVisibility(made.body.id, "public");
    const { ask } = await t().tenant("demo");
    const answers = await Promise.all(Array.from({ length: 9 }, () => ask("POST", "/v1/sandboxes", { template: "shared" })));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 8 }, () => 201), 403]);
    expect(answers.find((answer) => answer.status === 403)?.body).toMatchObject({ code: "demo_tier_limit" });
    await ask("DELETE", `/v1/sandboxes/${answers.find((answer) => answer.status === 201)?.body.id}`);
    expect((await ask("POST", "/v1/sandboxes", { template: "shared" })).status).toBe(201);
  });

  it("501 for secrets, which would silently be missing inside", async () => {
    const { ask } = await t().tenant();
    expect(await ask("POST", "/v1/sandboxes", { template: "x", secret_refs: ["token"] })).toMatchObject({
      status: 501,
      body: { code: "not_implemented", retryable: false },
    });
  });

  it("passes the node's reason on", async () => {
    const { ask } = await t().tenant();
    const { template } = await sandboxOf(ask);
    t().placement.answer = () => ({ code: "does_not_fit", message: "4096 MiB is more than any node has", detail: "node_test: 1024 MiB" });
    expect(await ask("POST", "/v1/sandboxes", { template })).toMatchObject({
      status: 422,
      body: { code: "does_not_fit", retryable: false, message: "4096 MiB is more than any node has", detail: "node_test: 1024 MiB" },
    });
  });
});
