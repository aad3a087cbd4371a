// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile, askWith } from "../../tests/api-under-test.ts";
import { ROUTES } from "./document.ts";

const t = apiForFile();

describe("the OpenAPI document", () => {
  it("is there for anyone and has every route of /v1, and no other", async () => {
    const { status, body } = await askWith(t().api.url, undefined)("GET", "/v1/openapi.json");
    expect([status, body.openapi]).toEqual([200, "3.1.0"]);
    const documented = ROUTES.map((route) => `${route.method.toUpperCase()} ${route.path}`);
    const real = t().api.routes.filter((route) => route.includes(" /v1/") && !route.endsWith("/v1/openapi.json"));
    expect(documented.toSorted()).toEqual(real.toSorted());
    expect(Object.keys(body.paths).toSorted()).toEqual([...new Set(ROUTES.map((route) => route.path))].toSorted());
  });
  it("says what a create takes and gives", async () => {
    const { body } = await askWith(t().api.url, undefined)("GET", "/v1/openapi.json");
    const create = body.paths["/v1/sandboxes"].post;
    expect(create.requestBody.content["application/json"].schema).toMatchObject({
      type: "object",
      required: ["template"],
      properties: { template: { type: "string" } },
    });
    expect(create.responses["201"].content["application/json"].schema.required).toContain("fork_time_ms");
    expect(create.parameters.map((p: { name: string }) => p.name)).toEqual(["Idempotency-Key"]);
  });
});
