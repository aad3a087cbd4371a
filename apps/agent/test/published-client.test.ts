// SPDX-License-Identifier: Apache-2.0
/** Both Python clients of a node's own surface, over its unix socket: the published one, unmodified, and ours. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ourClient, PUBLISHED_VERSION, publishedClient, type PythonClient } from "@collimate/testing";
import { describe, expect, inject, it } from "vitest";
import { sharedNode } from "./node/shared-node.ts";

const node = sharedNode();
const SCRIPT = join(import.meta.dirname, "daemon_client.py");

async function seenBy({ python, env }: PythonClient, settings: Record<string, string> = {}): Promise<unknown> {
  const environment = { PATH: "/usr/bin:/bin", COLLIMATE_SERVE_SOCKET: inject("node").socket, ...env, ...settings };
  const { stdout } = await promisify(execFile)(python, [SCRIPT, node.template.templateId], { env: environment, timeout: 100_000 });
  return JSON.parse(stdout);
}

const EXPECTED = {
  client: "CollimateClient",
  status: "ok",
  templates: true,
  exec: { stdout: "out", stderr: "err", exit_code: 3, ok: false, seed: 64 },
  state: "[1, 2, 3]\n",
  listed: 1,
  info: true,
  once: "once\n",
  timed_out: -1,
  parallel: true,
  deleted: true,
  listed_after: 0,
  errors: {
    template: { status: 404, code: "no_template" },
    session: { status: 404, code: "no_such_session" },
    exec: { status: 404, code: "no_such_session" },
  },
};

describe("a client of the node's own surface", () => {
  it(`published as collimate-rl ${PUBLISHED_VERSION} does all that a trainer on the node does`, async () => {
    expect(await seenBy(await publishedClient(), { WITH_FILES: "1" })).toEqual({
      ...EXPECTED,
      round_trip: true,
      version: PUBLISHED_VERSION,
    });
  }, 180_000);

  it("does so behind a proxy setting too, which makes it send absolute targets", async () => {
    expect(await seenBy(await publishedClient(), { http_proxy: "http://127.0.0.1:9" })).toMatchObject(EXPECTED);
  }, 180_000);

  it("that is ours does the same, and speaks the catalogue's words", async () => {
    const errors = Object.fromEntries(Object.keys(EXPECTED.errors).map((what) => [what, { status: 404, code: "not_found" }]));
    expect(await seenBy(await ourClient())).toMatchObject({ ...EXPECTED, errors });
  }, 180_000);
});
