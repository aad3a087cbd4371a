// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";

const t = apiForFile();

describe("the daemon's vocabulary", () => {
  it("creates, lists as a bare array, gets and deletes the same sandboxes", async () => {
    const { ask } = await t().tenant();
    const { template, sandbox } = await sandboxOf(ask);
    const created = await ask("POST", "/v1/sessions", { template_id: template });
    expect(created).toMatchObject({
      status: 201,
      body: { session_id: expect.stringMatching(/^sb_/), template_id: template, fork_time_ms: 7.5 },
    });
    const list = await ask("GET", "/v1/sessions");
    expect(list.body.map((row: { session_id: string }) => row.session_id)).toEqual([sandbox, created.body.session_id]);
    const info = await ask("GET", `/v1/sessions/${sandbox}`);
    expect(info.body).toMatchObject({ session_id: sandbox, template_id: template, exec_count: 0 });
    expect(info.body.age_secs).toBeGreaterThanOrEqual(0);
    expect(info.body.idle_secs).toBeGreaterThanOrEqual(0);
    expect(await ask("DELETE", `/v1/sessions/${sandbox}?force=true`)).toMatchObject({
      status: 200,
      body: { deleted: true, session_id: sandbox },
    });
    expect((await ask("GET", `/v1/sandboxes/${sandbox}`)).status).toBe(404);
  });
  it("has its own words for what is missing", async () => {
    const { ask } = await t().tenant();
    expect(await ask("GET", "/v1/sessions/sb_none")).toMatchObject({
      status: 404,
      body: { code: "not_found", error_code: "no_such_session" },
    });
    expect(await ask("POST", "/v1/sessions", { template_id: "nothing" })).toMatchObject({
      status: 404,
      body: { code: "not_found", error_code: "no_template" },
    });
    expect(await ask("POST", "/v1/sessions", {})).toMatchObject({
      status: 400,
      body: { code: "template_id_required", error_code: "template_id_required" },
    });
  });
});
