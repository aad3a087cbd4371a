// SPDX-License-Identifier: Apache-2.0
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";
import type { Ask } from "../../tests/api-under-test.ts";
import { send } from "../../tests/exec-peer.ts";

const t = apiForFile({ execBufferBytes: 1_000_000 });
let ask: Ask;
let sandbox: string;
beforeAll(async () => {
  ({ ask } = await t().tenant());
  ({ sandbox } = await sandboxOf(ask));
});
beforeEach(() => {
  t().peer.script = undefined;
});
const exec = (body: unknown, id = sandbox) => ask("POST", `/v1/sandboxes/${id}/exec`, body);

describe("400", () => {
  it.each([
    [{}, /^command: give one of/],
    [{ command: "x", timeout_seconds: 3601 }, /^timeout_seconds: /],
    [{ commands: [["a"], []] }, /^commands\[1\]: /],
    [{ commands: [["x".repeat(131_072)]] }, /^commands\[0\]\[0\]: longer than an argument/],
    [{ files: [{ path: "/a" }] }, /^files\[0\]\.content: /],
  ])("names the field of %.60o", async (body, message) => {
    expect(await exec(body)).toMatchObject({ status: 400, body: { code: "bad_request", message: expect.stringMatching(message) } });
  });
  it("has a code of its own for a bad seed", async () => {
    expect(await exec({ command: "x", seed: "abc" })).toMatchObject({
      status: 400,
      body: { code: "invalid_seed", error_code: "invalid_seed" },
    });
  });
  it("asks for a template in the one-shot exec", async () => {
    expect(await ask("POST", "/v1/exec", { command: "x" })).toMatchObject({ status: 400, body: { code: "template_id_required" } });
    expect(await ask("POST", "/v1/exec", { command: "x", template_id: "none" })).toMatchObject({
      status: 404,
      body: { error_code: "no_template" },
    });
  });
});

describe("404 and 410", () => {
  it("another tenant's sandbox looks like none, and nothing reaches its node", async () => {
    const other = await t().tenant();
    const answer = await other.ask("POST", `/v1/sandboxes/${sandbox}/exec`, { command: "x" });
    expect(answer).toMatchObject({ status: 404, body: { code: "not_found", message: `no sandbox ${sandbox}` } });
  });
  it("a sandbox that ended by itself says why", async () => {
    const own = await sandboxOf(ask);
    await t().database.client.sandbox.update({ where: { id: own.sandbox }, data: { state: "failed", error: "its memory ran out" } });
    expect(await exec({ command: "x" }, own.sandbox)).toMatchObject({
      status: 410,
      body: { code: "session_gone", message: expect.stringContaining("its memory ran out") },
    });
  });
  it("a sandbox that its node does not know is gone", async () => {
    const own = await sandboxOf(ask);
    t().peer.sandboxes.delete(own.sandbox);
    expect(await exec({ command: "x" }, own.sandbox)).toMatchObject({ status: 410, body: { code: "session_gone" } });
  });
});

describe("502 and 503", () => {
  it("a stream that breaks off is an error, not an exit code", async () => {
    t().peer.script = (_request, response) => {
      send(response, { t: "o", d: "YQ==" });
      response.end();
    };
    expect(await exec({ command: "x" })).toMatchObject({
      status: 502,
      body: { code: "upstream_error", retryable: true, message: expect.stringContaining("not known") },
    });
  });
  it("a failure that the agent tells keeps its code", async () => {
    t().peer.script = (_request, response) => {
      send(response, { t: "err", failure: { code: "draining", message: "the node goes down" } });
      response.end();
    };
    expect(await exec({ command: "x" })).toMatchObject({ status: 503, body: { code: "draining", message: "the node goes down" } });
  });
  it("a node that cannot be reached: nothing was run", async () => {
    const own = await sandboxOf(ask);
    await t().database.client.node.create({
      data: {
        id: "node_dead",
        url: "http://127.0.0.1:1",
        bootId: "b",
        startId: "s",
        memoryTotalMib: 1,
        memoryFreeMib: 1,
        slotsTotal: 1,
        slotsFree: 1,
        vcpus: 1,
        facts: {},
        heartbeatAt: new Date(),
      },
    });
    await t().database.client.sandbox.update({ where: { id: own.sandbox }, data: { nodeId: "node_dead" } });
    expect(await exec({ command: "x" }, own.sandbox)).toMatchObject({
      status: 502,
      body: { code: "upstream_error", message: expect.stringContaining("nothing was run") },
    });
  });
  it("with too much output held already, a new exec is refused before it runs", async () => {
    const finish = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    t().peer.script = async (_request, response) => {
      for (let i = 0; i < 10; i++) send(response, { t: "o", d: Buffer.alloc(150_000, "a").toString("base64") });
      held.resolve();
      await finish.promise;
      response.destroy();
    };
    const first = exec({ command: "x" });
    await held.promise;
    await expect.poll(() => t().api.services.execs.budget.exhausted).toBe(true);
    expect(await exec({ command: "x" })).toMatchObject({ status: 503, body: { code: "at_capacity", retryable: true } });
    finish.resolve();
    expect((await first).status).toBe(502);
    expect(t().api.services.execs.budget.held).toBe(0);
  });
});
