// SPDX-License-Identifier: Apache-2.0
/** The published Python client, as it is on PyPI, in a virtual environment of its own: an input of this test, never a dependency. */
import { toolsDirectory } from "@collimate/embedded";
import { execFile } from "node:child_process";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { apiForFile } from "./api-under-test.ts";

const VERSION = "0.8.0";
const SCRIPT = fileURLToPath(new URL("published_client.py", import.meta.url));
const run = promisify(execFile);

const t = apiForFile();
let python: string;

beforeAll(async () => {
  python = await publishedClient();
}, 180_000);

/** Made once for each machine. */
async function publishedClient(): Promise<string> {
  const dir = join(toolsDirectory(), `published-client-${VERSION}`);
  const done = join(dir, "complete");
  if (!(await stat(done).catch(() => undefined))) {
    await rm(dir, { recursive: true, force: true });
    await run("python3", ["-m", "venv", dir]);
    await run(join(dir, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", `collimate-rl==${VERSION}`]);
    await mkdir(done);
  }
  return join(dir, "bin/python");
}

describe(`collimate-rl ${VERSION}`, () => {
  it("does all that a trainer does", async () => {
    t().placement.answer = (operation) =>
      operation.kind === "bake" && operation.request !== null && t().placement.seen.filter((o) => o.kind === "bake").length === 2
        ? { code: "bake_failed", message: "the ready command gave 3", detail: "last words" } : undefined;
    const { apiKey } = await t().tenant();
    const { stdout } = await run(python, [SCRIPT], { env: { PATH: "/usr/bin:/bin", COLLIMATE_API_KEY: apiKey, COLLIMATE_BASE_URL: t().api.url }, timeout: 110_000 });
    const seen: unknown = JSON.parse(stdout);
    expect(seen).toMatchObject({
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
      bake_failed: { phase: "Failed", error: "the ready command gave 3\nlast words", message: expect.stringContaining("the ready command gave 3") },
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
  }, 120_000);

  it("shows a demo key's limits in our words", async () => {
    const { apiKey } = await t().tenant("demo");
    const script = "import json\nfrom collimate_rl import *\ntry:\n    Template.bake(connect(), name='x', image='registry.test/own', width=1)\nexcept DemoTierLimit as e:\n    print(json.dumps([e.status, str(e)]))";
    const { stdout } = await run(python, ["-c", script], { env: { PATH: "/usr/bin:/bin", COLLIMATE_API_KEY: apiKey, COLLIMATE_BASE_URL: t().api.url }, timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual([403, expect.stringContaining("registry.test/own")]);
  });
});
