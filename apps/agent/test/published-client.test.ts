// SPDX-License-Identifier: Apache-2.0
/** Both Python clients of a node's own surface, over its unix socket: the published one, unmodified, and ours. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { PUBLISHED_VERSION, publishedClientPython } from "@collimate/testing";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { sharedNode } from "./node/shared-node.ts";

const node = sharedNode();
const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, "daemon_client.py");
let python = "";

beforeAll(async () => {
  python = await publishedClientPython();
}, 180_000);

async function seenBy(environment: Record<string, string>): Promise<unknown> {
  const { stdout } = await run(python, [SCRIPT, node.template.templateId], { env: { PATH: "/usr/bin:/bin", COLLIMATE_SERVE_SOCKET: inject("node").socket, ...environment }, timeout: 50_000 });
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
  round_trip: true,
  parallel: true,
  deleted: true,
  listed_after: 0,
  errors: { template: { status: 404, code: "no_template" }, session: { status: 404, code: "no_such_session" }, seed: { status: 400, code: "invalid_seed" } },
};

describe("a client of the node's own surface", () => {
  it(`published as collimate-rl ${PUBLISHED_VERSION} does all that a trainer on the node does`, async () => {
    expect(await seenBy({})).toEqual({ ...EXPECTED, version: PUBLISHED_VERSION });
  });

  it("does so behind a proxy setting too, which makes it send absolute targets", async () => {
    expect(await seenBy({ http_proxy: "http://127.0.0.1:9" })).toMatchObject(EXPECTED);
  });
});
