// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEY, refuse, WireServer } from "../../tests/wire-server.ts";
import type { Client } from "../client.ts";
import { connect } from "../connection/connect.ts";
import { ConfigurationError, SeedNotAppliedError, SessionClosedError } from "../errors.ts";
import { seedFromKey } from "./seed.ts";

let server: WireServer;
let client: Client;
beforeEach(async () => {
  server = await WireServer.start();
  client = await connect({ url: server.url, apiKey: KEY, env: {}, retries: 1 });
});
afterEach(() => server[Symbol.asyncDispose]());

describe("a session", () => {
  it("deletes its sandbox at the end of the block, also after an error", async () => {
    const template = server.addTemplate();
    const block = async (): Promise<void> => {
      await using session = await client.session(template.id);
      expect(server.sandboxes.has(session.id)).toBe(true);
      throw new Error("in the block");
    };
    await expect(block()).rejects.toThrowError("in the block");
    expect(server.sandboxes.size).toBe(0);
  });

  it("tells how it was made", async () => {
    const session = await client.session(server.addTemplate().id, { label: "a", labels: { run: "7" } });
    expect(session).toMatchObject({ forkTimeMs: 3, createTimeMs: 8, sandbox: { label: "a", labels: { run: "7" }, state: "running" } });
  });

  it("is opened by a template's name as well", async () => {
    const template = server.addTemplate({ name: "swe-rollout" });
    expect((await client.session("swe-rollout")).sandbox.templateId).toBe(template.id);
  });

  it("refuses work when it is closed, instead of making a new sandbox", async () => {
    const session = await client.session(server.addTemplate().id);
    await session.close();
    await expect(session.exec({ command: "true" })).rejects.toBeInstanceOf(SessionClosedError);
    expect(() => session.fork(2)).toThrowError(SessionClosedError);
    expect(server.requests("POST /v1/sandboxes$")).toHaveLength(1);
  });

  it("is closed once, however often it is said", async () => {
    const session = await client.session(server.addTemplate().id);
    await Promise.all([session.close(), session.close()]);
    expect(server.requests("DELETE")).toHaveLength(1);
  });

  it("is content when the sandbox is gone already", async () => {
    const session = await client.session(server.addTemplate().id);
    server.sandboxes.clear();
    await expect(session.close()).resolves.toBeUndefined();
  });

  it("does not hide that its sandbox was not deleted", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("DELETE", refuse("unauthorized"));
    await expect(session.close()).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("can be suspended and resumed", async () => {
    const session = await client.session(server.addTemplate().id);
    await session.suspend();
    expect((await client.getSandbox(session.id)).state).toBe("suspended");
    await session.resume();
    expect((await client.getSandbox(session.id)).state).toBe("running");
  });
});

describe("exec", () => {
  it("gives what the program left, in this language's words", async () => {
    const session = await client.session(server.addTemplate().id);
    const result = await session.exec({ command: "exit 3", stdin: "in", timeoutSeconds: 5, cwd: "/tmp", env: { A: "1" }, user: "nobody" });
    expect(result).toMatchObject({
      stdout: "exit 3",
      stderr: "in",
      exitCode: 3,
      ok: false,
      timedOut: false,
      execTimeMs: 1,
      totalTimeMs: 2,
      seedAck: "off",
    });
    expect(server.requests("exec$")[0]?.body).toEqual({
      command: "exit 3",
      stdin: "in",
      timeout_seconds: 5,
      cwd: "/tmp",
      env: { A: "1" },
      user: "nobody",
    });
  });

  it.each([
    [{ code: "x", command: "y" }, /several/],
    [{}, /nothing to run/],
    [{ files: [] }, /nothing to run/],
  ])("refuses %j before anything is sent", async (options, why) => {
    const session = await client.session(server.addTemplate().id);
    await expect(session.exec(options)).rejects.toThrowError(why);
    expect(server.requests("exec$")).toEqual([]);
  });

  it("takes files alone", async () => {
    const session = await client.session(server.addTemplate().id);
    expect((await session.exec({ files: [{ path: "/a", content: "b" }] })).ok).toBe(true);
  });

  it("without an exit code in the answer is no success", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("exec$", (_request, response) => {
      response.end("{}");
      return true;
    });
    expect(await session.exec({ command: "true" })).toMatchObject({ ok: false, exitCode: -1 });
  });

  it("rejects when a seed was required and not verified", async () => {
    const session = await client.session(server.addTemplate().id);
    const seed = "a".repeat(64);
    expect((await session.exec({ code: "1", seed, requireSeed: true })).seedAck).toBe("verified");
    server.fail("exec$", (_request, response) => {
      response.end(JSON.stringify({ exit_code: 0, seed, seed_ack: "off" }));
      return true;
    });
    await expect(session.exec({ code: "1", seed, requireSeed: true })).rejects.toBeInstanceOf(SeedNotAppliedError);
    await expect(session.exec({ code: "1", requireSeed: true })).rejects.toBeInstanceOf(ConfigurationError);
  });
});

describe("a seeded session", () => {
  it("gives its seed to the first exec and a new one, drawn from it, to each later one", async () => {
    const parent = await client.session(server.addTemplate().id);
    const seed = "b".repeat(64);
    const group = await parent.fork(1, { seed });
    const [child] = group.children;
    for (let i = 0; i < 3; i++) await child?.exec({ code: "1" });
    expect(server.runs.map((run) => run.seed)).toEqual([seed, await seedFromKey("exec:1", seed), await seedFromKey("exec:2", seed)]);
  });
});
