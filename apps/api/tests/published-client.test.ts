// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile } from "./api-under-test.ts";
import { runPublishedClient, TRAINER, VERSION } from "./published-client.ts";

const t = apiForFile();

describe(`collimate-rl ${VERSION}`, () => {
  it("does all that a trainer does", async () => {
    t().placement.answer = (operation) =>
      operation.kind === "bake" && operation.request !== null && t().placement.seen.filter((o) => o.kind === "bake").length === 2
        ? { code: "bake_failed", message: "the ready command gave 3", detail: "last words" }
        : undefined;
    const { apiKey } = await t().tenant();
    expect(await runPublishedClient([TRAINER], apiKey, t().api.url)).toMatchObject({
      version: VERSION,
      client: "GatewayClient",
      health: "ok",
      same_template: true,
      status: { phase: "Live", declared: 8, total: 3, converged: true, bake_mode: "built" },
      attached: "swe-rollout",
      exec: { stdout: "out", stderr: "err", exit_code: 3, ok: false, seed: 64 },
      fork: { children: 40, distinct: 40 },
      squares: true,
      listed: 41,
      round_trip: true,
      after_group: 1,
      row: { state: "running" },
      after_session: 0,
      env: "env\n",
      sandbox: "positional\n",
      rewards: [1, 0],
      delete_unknown: false,
      bake_failed: {
        phase: "Failed",
        error: "the ready command gave 3\nlast words",
        message: expect.stringContaining("the ready command gave 3"),
      },
      left: 0,
      usage: { live: true },
      template_deleted: { deleted: true },
      errors: {
        unknown: { type: "GatewayError", status: 404, code: "not_found" },
        width: { status: 404, code: "not_found" },
        key: { status: 401, code: "unauthorized" },
        seed: { status: 400, code: "invalid_seed" },
      },
    });
  }, 300_000);

  it("shows a demo key's limits in our words", async () => {
    const { apiKey } = await t().tenant("demo");
    const script =
      "import json\nfrom collimate_rl import *\ntry:\n    Template.bake(connect(), name='x', image='registry.test/own', width=1)\nexcept DemoTierLimit as e:\n    print(json.dumps([e.status, str(e)]))";
    expect(await runPublishedClient(["-c", script], apiKey, t().api.url)).toEqual([403, expect.stringContaining("registry.test/own")]);
  });
});
