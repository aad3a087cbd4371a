// SPDX-License-Identifier: Apache-2.0
import { beforeAll, describe, expect, it } from "vitest";
import { apiForFile } from "../../tests/api-under-test.ts";
import type { Ask } from "../../tests/api-under-test.ts";

const t = apiForFile();
let demo: Ask;
beforeAll(async () => {
  ({ ask: demo } = await t().tenant("demo"));
});

describe("a demo key", () => {
  it("bakes no image of its own", async () => {
    expect(await demo("POST", "/v1/templates", { name: "a", image: "registry.test/own" })).toMatchObject({
      status: 403,
      body: { code: "demo_tier_limit" },
    });
  });
  it.each([{ ports: [80] }, { http: "http://127.0.0.1/" }, { network: true }])("has no network (%o)", async (ready) => {
    expect(await demo("POST", "/v1/templates", { name: "a", image: "x", ready })).toMatchObject({
      status: 403,
      body: { code: "network_requires_pro" },
    });
  });
});

describe("a catalog template", () => {
  it("is changed by nobody through a key, and the message says catalog, which clients look for", async () => {
    const owner = await t().tenant("pro");
    const other = await t().tenant("pro");
    const made = await owner.ask("POST", "/v1/templates", { name: "c", image: "registry.test/c" });
    await t().api.services.tenants.setVisibility(made.body.id, "public");
    for (const [method, path] of [
      ["DELETE", ""],
      ["POST", "/release"],
      ["POST", "/expect"],
    ] as const) {
      const answer = await other.ask(method, `/v1/templates/${made.body.id}${path}`, { width: 1 });
      expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
      expect(answer.body.message).toContain("catalog");
    }
  });
});
