// SPDX-License-Identifier: Apache-2.0
import { EXEC_OUTPUT_MAX } from "@collimate/contracts";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";
import type { Ask } from "../../tests/api-under-test.ts";

const t = apiForFile();
let ask: Ask;
let sandbox: string;
beforeAll(async () => {
  ({ ask } = await t().tenant());
  ({ sandbox } = await sandboxOf(ask));
});
const exec = (body: unknown) => ask("POST", `/v1/sandboxes/${sandbox}/exec`, body);

describe("an exec", () => {
  it("has separate streams, the exit code, and every field that clients read", async () => {
    const answer = await exec({ command: "printf 'out é\\n'; printf 'err' >&2; exit 3" });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        id: expect.stringMatching(/^req_/),
        stdout: "out é\n",
        stderr: "err",
        exit_code: 3,
        fork_time_ms: 0,
        seed_ack: "off",
        timed_out: false,
        oom_killed: false,
        signal: 0,
        truncated: false,
      },
    });
    expect(answer.body.exec_time_ms).toBeGreaterThan(0);
    expect(answer.body.total_time_ms).toBeGreaterThanOrEqual(answer.body.exec_time_ms);
    expect(answer.body.seed).toMatch(/^[0-9a-f]{64}$/);
    expect(answer.body.results).toBeUndefined();
  });

  it("of files alone writes them byte for byte and gives 0", async () => {
    const dir = await mkdtemp(join(tmpdir(), "api-exec-"));
    try {
      const path = join(dir, "deep/er/a b.txt");
      expect(await exec({ files: [{ path, content: "no newline é" }] })).toMatchObject({
        status: 200,
        body: { exit_code: 0, stdout: "", stderr: "" },
      });
      expect(await readFile(path, "utf8")).toBe("no newline é");
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("of several argv lists stops at the first that fails, and tells each one's own output", async () => {
    const answer = await exec({
      commands: [
        ["printf", "é%s", "a b"],
        ["sh", "-c", "printf two; printf bad >&2; exit 4"],
        ["printf", "never"],
      ],
    });
    expect(answer.body).toMatchObject({ stdout: "éa btwo", stderr: "bad", exit_code: 4 });
    expect(answer.body.results).toEqual([
      { stdout: "éa b", stderr: "", exit_code: 0 },
      { stdout: "two", stderr: "bad", exit_code: 4 },
    ]);
  });

  it("of a missing program is an exit code, no error", async () => {
    expect(await exec({ commands: [["no-such-program"]] })).toMatchObject({ status: 200, body: { exit_code: 127 } });
  });

  it("over its time limit is 200 with -1, the partial output, and a note on stderr only", async () => {
    const answer = await exec({ command: "echo 1.0; sleep 60", timeout_seconds: 1 });
    expect(answer).toMatchObject({ status: 200, body: { exit_code: -1, timed_out: true, stdout: "1.0\n", stderr: "timeout after 1s\n" } });
  });

  it("passes the largest download of published clients, and cuts and flags what is over the bound", async () => {
    const whole = await exec({ command: `head -c 15379300 /dev/zero | tr '\\0' a` });
    expect([whole.body.stdout.length, whole.body.truncated]).toEqual([15_379_300, false]);
    const cut = await exec({ command: `head -c ${EXEC_OUTPUT_MAX + 10} /dev/zero | tr '\\0' a` });
    expect([cut.body.stdout.length, cut.body.truncated]).toEqual([EXEC_OUTPUT_MAX, true]);
    expect(t().api.services.execs.budget.held).toBe(0);
  });

  it("takes an upload's argument of 98 KiB and a body of many megabytes", async () => {
    const argument = "x".repeat(100_000);
    expect((await exec({ command: `printf '%s' '${argument}' | wc -c` })).body.stdout.trim()).toBe("100000");
    expect((await exec({ files: [{ path: join(tmpdir(), "api-exec-big"), content: "y".repeat(20 * 1024 * 1024) }] })).status).toBe(200);
    await rm(join(tmpdir(), "api-exec-big"), { force: true });
  });

  it("wakes a suspended sandbox", async () => {
    const tenant = await t().tenant();
    const own = await sandboxOf(tenant.ask);
    await tenant.ask("POST", `/v1/sandboxes/${own.sandbox}/suspend`, {});
    expect((await tenant.ask("POST", `/v1/sandboxes/${own.sandbox}/exec`, { command: "echo awake" })).body).toMatchObject({
      stdout: "awake\n",
      exit_code: 0,
    });
    expect((await tenant.ask("GET", `/v1/sandboxes/${own.sandbox}`)).body.state).toBe("running");
  });

  it("writes nothing to the database", async () => {
    const look = async () => [
      await t().database.client.sandbox.findUniqueOrThrow({ where: { id: sandbox } }),
      await t().database.client.operation.count(),
    ];
    const before = await look();
    await exec({ command: "true" });
    expect(await look()).toEqual(before);
  });

  it("reuses the connection to the node", async () => {
    await exec({ command: "true" });
    const before = t().peer.connections();
    for (let i = 0; i < 10; i++) await exec({ command: "true" });
    expect(t().peer.connections()).toBe(before);
  });

  it("by the daemon's words is the same", async () => {
    expect(await ask("POST", `/v1/sessions/${sandbox}/exec`, { commands: [["bash", "-lc", "echo hi"]] })).toMatchObject({
      status: 200,
      body: { stdout: "hi\n", exit_code: 0 },
    });
  });
});

describe("POST /v1/exec", () => {
  it("makes a sandbox, runs in it and leaves none, whatever the command did", async () => {
    const tenant = await t().tenant();
    const made = await tenant.ask("POST", "/v1/templates", { name: "py", image: "registry.test/py" });
    const answer = await tenant.ask("POST", "/v1/exec", { template_id: made.body.id, command: "echo once; exit 9" });
    expect(answer).toMatchObject({ status: 200, body: { stdout: "once\n", exit_code: 9, fork_time_ms: 7.5 } });
    t().peer.script = (_request, response) => void response.destroy();
    expect(await tenant.ask("POST", "/v1/exec", { template_id: "py", command: "x" })).toMatchObject({ status: 502 });
    t().peer.script = undefined;
    await expect
      .poll(() => t().database.client.sandbox.findMany({ where: { tenantId: tenant.tenantId }, select: { state: true } }))
      .toEqual([{ state: "deleted" }, { state: "deleted" }]);
  });
});
