// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { Agent } from "node:http";
import { type Heartbeat, type NodeReport, execReplySchema, sessionInfoSchema } from "@collimate/contracts";
import { describe, expect, inject, it, vi } from "vitest";
import { z } from "zod";
import { ask, type Ask } from "./node/daemon-http.ts";
import { initOf } from "./node/leftovers.ts";
import { SETTLED, sharedNode } from "./node/shared-node.ts";

const node = sharedNode();
const { socket, daemonPort } = inject("node");
const call = (method: string, path: string, options?: Ask) => ask({ socketPath: socket }, method, path, options);
const createdSchema = sessionInfoSchema.extend({ fork_time_ms: z.number(), create_time_ms: z.number() });

async function open(): Promise<string> {
  const answer = await call("POST", "/v1/sessions", { body: { template_id: node.template.templateId } });
  expect(answer.status).toBe(201);
  return createdSchema.parse(answer.json).session_id;
}
const close = (id: string) => call("DELETE", `/v1/sessions/${id}`);
const exec = async (id: string, body: object) => execReplySchema.parse((await call("POST", `/v1/sessions/${id}/exec`, { body })).json);

describe("the node's own surface", () => {
  it("tells its health and the templates that it has", async () => {
    const { status, json } = await call("GET", "/v1/health");
    expect(status).toBe(200);
    expect(json).toEqual({
      status: "ok",
      sessions: 0,
      running: 0,
      max_inflight: 256,
      queued: 0,
      templates: [node.template.templateId],
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it("makes, shows, lists and deletes a session", async () => {
    const answer = await call("POST", "/v1/sessions", { body: { template_id: node.template.templateId } });
    const made = createdSchema.parse(answer.json);
    expect(made).toMatchObject({ template_id: node.template.templateId, exec_count: 0, endpoints: {} });
    expect(made.create_time_ms).toBeGreaterThanOrEqual(made.fork_time_ms);
    await exec(made.session_id, { command: "true" });
    const list = await call("GET", "/v1/sessions");
    expect(z.array(sessionInfoSchema).parse(list.json)).toMatchObject([{ session_id: made.session_id, exec_count: 1 }]);
    expect((await call("GET", `/v1/sessions/${made.session_id}`)).json).toMatchObject({ session_id: made.session_id });
    expect((await call("DELETE", `/v1/sessions/${made.session_id}?force=true`)).json).toEqual({
      deleted: true,
      session_id: made.session_id,
    });
    expect(await close(made.session_id)).toMatchObject({ status: 200, json: { deleted: false } });
    expect((await call("GET", "/v1/sessions")).text).toBe("[]");
    expect(await call("GET", `/v1/sessions/${made.session_id}`)).toMatchObject({
      status: 404,
      json: { error_code: "no_such_session", code: "not_found" },
    });
  });

  it("takes the id of a snapshot in the place of the template's", async () => {
    const answer = await call("POST", "/v1/sessions", { body: { template_id: node.template.snapshotId } });
    const { session_id, template_id } = createdSchema.parse(answer.json);
    expect(template_id).toBe(node.template.templateId);
    await close(session_id);
  });

  it("runs commands, argument lists, code and files as the contract says", async () => {
    const id = await open();
    expect(await exec(id, { command: "echo out; echo err >&2; exit 3" })).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      exit_code: 3,
      timed_out: false,
      fork_time_ms: 0,
      seed_ack: "off",
    });
    expect(
      await exec(id, {
        commands: [
          ["echo", "one"],
          ["sh", "-c", "exit 4"],
          ["echo", "never"],
        ],
      }),
    ).toMatchObject({
      stdout: "one\n",
      exit_code: 4,
      results: [
        { stdout: "one\n", stderr: "", exit_code: 0 },
        { stdout: "", stderr: "", exit_code: 4 },
      ],
    });
    await exec(id, { code: "x = 'ü'" });
    expect(await exec(id, { code: "print(x)" })).toMatchObject({ stdout: "ü\n", exit_code: 0 });
    expect(await exec(id, { files: [{ path: "/a/b", content: "exact" }] })).toMatchObject({ stdout: "", stderr: "", exit_code: 0 });
    expect(await exec(id, { command: "cat /a/b" })).toMatchObject({ stdout: "exact" });
    expect(await exec(id, { command: "echo part; sleep 100", timeout_seconds: 1 })).toMatchObject({
      stdout: "part\n",
      stderr: "timeout after 1s\n",
      exit_code: -1,
      timed_out: true,
    });
    const seed = "0F".repeat(32);
    expect(await exec(id, { command: "true", seed })).toMatchObject({ seed: seed.toLowerCase() });
    await close(id);
  });

  it("gives 16 MiB of output whole, and more cut and flagged", async () => {
    const id = await open();
    const whole = await exec(id, { command: "head -c 16777216 /dev/zero | tr '\\0' x" });
    expect([whole.stdout.length, whole.truncated]).toEqual([16_777_216, false]);
    // Two bytes each, the first a byte late: the cap falls into the middle of one.
    const cut = await exec(id, { command: "printf x; head -c 8500000 /dev/zero | sed 's/\\x00/ü/g'" });
    expect([Buffer.byteLength(cut.stdout), cut.truncated, cut.stdout.endsWith("ü")]).toEqual([16_777_215, true, true]);
    await close(id);
  });

  it("runs once in a sandbox of its own and leaves nothing", async () => {
    const before = await node.restingFootprint();
    const reply = execReplySchema.parse(
      (await call("POST", "/v1/exec", { body: { template_id: node.template.templateId, command: "echo once" } })).json,
    );
    expect(reply).toMatchObject({ stdout: "once\n", exit_code: 0 });
    expect(reply.fork_time_ms).toBeGreaterThan(0);
    expect(reply.total_time_ms).toBeGreaterThan(reply.exec_time_ms);
    await node.settlesAt(before);
  });

  it("ends a one-shot exec whose caller has gone", async () => {
    const before = await node.restingFootprint();
    const caller = new AbortController();
    const asked = call("POST", "/v1/exec", {
      body: { template_id: node.template.templateId, command: "sleep 1000", timeout_seconds: 3_000 },
      signal: caller.signal,
    });
    await vi.waitFor(async () => expect((await call("GET", "/v1/sessions")).json).toMatchObject([{ exec_count: 1 }]), SETTLED);
    caller.abort();
    await expect(asked).rejects.toThrow(/abort/i);
    await node.settlesAt(before);
  });

  it("keeps a session's exec going when its caller has gone", async () => {
    const id = await open();
    const caller = new AbortController();
    const asked = call("POST", `/v1/sessions/${id}/exec`, {
      body: { command: "touch /begun; while [ ! -e /go ]; do sleep 0.02; done; touch /done" },
      signal: caller.signal,
    });
    await exec(id, { command: "while [ ! -e /begun ]; do sleep 0.02; done" });
    caller.abort();
    await expect(asked).rejects.toThrow(/abort/i);
    expect(await exec(id, { command: "touch /go; while [ ! -e /done ]; do sleep 0.02; done; echo done" })).toMatchObject({
      stdout: "done\n",
    });
    await close(id);
  });

  it.each([
    ["an unknown template", "POST", "/v1/sessions", { body: { template_id: "tpl_none" } }, 404, "no_template"],
    ["no template", "POST", "/v1/sessions", { body: {} }, 400, "template_id_required"],
    ["no body at all", "POST", "/v1/sessions", {}, 400, "template_id_required"],
    ["a one-shot exec without a template", "POST", "/v1/exec", { body: { command: "true" } }, 400, "template_id_required"],
    ["an unknown session", "POST", "/v1/sessions/sb_none/exec", { body: { command: "true" } }, 404, "no_such_session"],
    ["nothing to run", "POST", "/v1/sessions/sb_none/exec", { body: {} }, 400, "bad_request"],
    ["a seed that is none", "POST", "/v1/sessions/sb_none/exec", { body: { command: "true", seed: "xyz" } }, 400, "invalid_seed"],
    ["a body that is no JSON", "POST", "/v1/sessions", { body: "{" }, 400, "bad_request"],
    [
      "a form",
      "POST",
      "/v1/sessions",
      { body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } },
      415,
      "unsupported_media_type",
    ],
    ["a route that is none", "GET", "/v1/nothing", {}, 404, "no_such_session"],
  ])("refuses %s in the shape that every client reads", async (_what, method, path, options, status, code) => {
    const answer = await call(method, path, options);
    expect(answer).toMatchObject({
      status,
      json: {
        code: expect.any(String),
        error_code: code,
        message: expect.any(String),
        error: expect.any(String),
        request_id: expect.stringMatching(/^req_/),
      },
    });
  });

  it("names the field that is wrong", async () => {
    expect((await call("POST", "/v1/sessions/sb_none/exec", { body: { command: "true", timeout_seconds: "soon" } })).json).toMatchObject({
      message: expect.stringContaining("timeout_seconds"),
    });
  });

  it("keeps connections, takes absolute targets, and is the same on TCP", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await ask({ port: daemonPort }, "GET", "/v1/sessions", { agent });
    expect(first.headers).toMatchObject({ connection: "keep-alive", "keep-alive": "timeout=7200" });
    expect((await ask({ port: daemonPort }, "GET", "http://localhost/v1/health?x=1", { agent })).json).toMatchObject({ status: "ok" });
    agent.destroy();
    expect((await call("GET", "http://localhost/v1/health")).json).toMatchObject({ status: "ok" });
  });

  it("listens where only root and its group get in", async () => {
    expect((await stat(socket)).mode & 0o777).toBe(0o660);
  });
});

describe("a session of the node", () => {
  it("is listed apart in the heartbeat, and none of the platform's sandboxes is seen here", async () => {
    const { platform } = node;
    const theirs = await platform.create(node.template);
    const mine = await open();
    const since = Date.now();
    const beat = await platform.next((report: NodeReport): report is Heartbeat => report.kind === "heartbeat" && report.at > since);
    expect(beat).toMatchObject({ sandboxes: [theirs], localSandboxes: [mine] });
    expect((await call("GET", "/v1/sessions")).json).toMatchObject([{ session_id: mine }]);
    expect((await call("GET", `/v1/sessions/${theirs}`)).status).toBe(404);
    expect((await call("POST", `/v1/sessions/${theirs}/exec`, { body: { command: "true" } })).status).toBe(404);
    expect((await close(theirs)).json).toMatchObject({ deleted: false });
    expect(await platform.shell(theirs, "echo untouched")).toBe("untouched\n");
    await close(mine);
    await platform.delete(theirs);
    expect(
      platform.reports
        .filter((report) => report.kind === "activity")
        .flatMap((report) => (report.kind === "activity" ? report.execs : []))
        .map((one) => one.sandboxId),
    ).not.toContain(mine);
  });

  it("that ended by itself is gone, with the reason; the platform is told nothing", async () => {
    const id = await open();
    process.kill(await initOf(inject("node").nodeId), "SIGKILL");
    await vi.waitFor(
      async () =>
        expect(await call("GET", `/v1/sessions/${id}`)).toMatchObject({
          status: 410,
          json: { error_code: "session_gone", message: expect.stringContaining("its init ended") },
        }),
      SETTLED,
    );
    const since = Date.now();
    await node.platform.next((report: NodeReport): report is Heartbeat => report.kind === "heartbeat" && report.at > since);
    expect(node.platform.reports.filter((report) => report.kind === "exited" && report.sandboxId === id)).toEqual([]);
  });
});
