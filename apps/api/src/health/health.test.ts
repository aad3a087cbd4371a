// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile, askWith, sandboxOf } from "../../tests/api-under-test.ts";

const t = apiForFile();

describe("health", () => {
  it("tells anyone that it runs, and a tenant its figures", async () => {
    const { ask } = await t().tenant();
    const { template } = await sandboxOf(ask);
    expect(await askWith(t().api.url, undefined)("GET", "/v1/health")).toMatchObject({
      status: 200,
      body: { status: "ok", version: expect.stringMatching(/^\d/) },
    });
    expect((await ask("GET", "/v1/health")).body).toMatchObject({
      status: "ok",
      sessions: 1,
      running: 1,
      queued: 0,
      max_inflight: 10_000,
      templates: [template],
    });
    expect((await askWith(t().api.url, "col_bad")("GET", "/v1/health")).status).toBe(401);
  });
  it("is alive and ready", async () => {
    const ask = askWith(t().api.url, undefined);
    expect(await ask("GET", "/healthz")).toMatchObject({ status: 200 });
    expect(await ask("GET", "/readyz")).toMatchObject({ status: 200, body: { status: "ready", missing: [] } });
  });
  it("counts replies by route, never by id", async () => {
    const { ask } = await t().tenant();
    await ask("GET", "/v1/sandboxes/sb_unseen");
    const text = await (await fetch(`${t().api.url}/metrics`)).text();
    expect(text).toMatch(/collimate_http_seconds_count\{[^}]*route="\/v1\/sandboxes\/:id",status="404"[^}]*\} 1/);
    expect(text).not.toContain("sb_unseen");
  });
});
