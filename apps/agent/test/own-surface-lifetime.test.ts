// SPDX-License-Identifier: Apache-2.0
/** An agent of its own, because these tests let it idle, stop and die. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sessionInfoSchema } from "@collimate/contracts";
import { startStack, type Stack } from "@collimate/embedded";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { AgentProcess, type AgentOptions } from "./node/agent-process.ts";
import { type Answer, ask } from "./node/daemon-http.ts";
import { remains } from "./node/leftovers.ts";
import { Platform } from "./node/platform.ts";
import { SETTLED } from "./node/shared-node.ts";

let stack: Stack<"redis">;
let state = "";
let options: AgentOptions;
beforeAll(async () => {
  stack = await startStack("redis");
  state = await mkdtemp(join(tmpdir(), "collimate-own-"));
  options = {
    nodeId: `node_own_${process.pid}`,
    redisUrl: stack.redis.url,
    registry: inject("registry"),
    image: inject("node").image,
    state,
    env: { AGENT_SLOTS_READY: "2", AGENT_SESSION_IDLE_S: "1" },
  };
});
afterAll(async () => {
  await stack.stop();
  await rm(state, { recursive: true, force: true });
});

const sessionOf = ({ json }: Answer): string => sessionInfoSchema.parse(json).session_id;

describe("the node's own surface", () => {
  it("ends a session that nobody uses, but not one in which something runs", async () => {
    await using agent = await AgentProcess.start(options);
    await using platform = new Platform(agent.facts);
    const { templateId } = await platform.bake({ cmd: "true" });
    const target = { socketPath: agent.facts.socket };
    const open = async () => sessionOf(await ask(target, "POST", "/v1/sessions", { body: { template_id: templateId } }));
    const [forgotten, used] = [await open(), await open()];
    const running = ask(target, "POST", `/v1/sessions/${used}/exec`, {
      body: { command: "while [ ! -e /go ]; do sleep 0.1; done; echo lived" },
    });
    await vi.waitFor(
      async () =>
        expect(await ask(target, "GET", `/v1/sessions/${forgotten}`)).toMatchObject({
          status: 410,
          json: { message: expect.stringContaining("idle for more than 1 s") },
        }),
      SETTLED,
    );
    await ask(target, "POST", `/v1/sessions/${used}/exec`, { body: { command: "touch /go" } });
    expect((await running).json).toMatchObject({ stdout: "lived\n" });
  });

  it("refuses work as `draining` while it stops, tells running execs, and closes", async () => {
    await using agent = await AgentProcess.start(options);
    await using platform = new Platform(agent.facts);
    const { templateId } = await platform.bake({ cmd: "true" });
    const target = { socketPath: agent.facts.socket };
    const create = () => ask(target, "POST", "/v1/sessions", { body: { template_id: templateId } });
    const id = sessionOf(await create());
    const running = ask(target, "POST", `/v1/sessions/${id}/exec`, { body: { command: "sleep 1000", timeout_seconds: 3_000 } });
    await vi.waitFor(async () => expect((await ask(target, "GET", "/v1/health")).json).toMatchObject({ running: 1 }), SETTLED);
    agent.signal("SIGTERM");
    let answer: Answer;
    do answer = await create();
    while (answer.status === 201);
    expect(answer).toMatchObject({
      status: 503,
      headers: { connection: "close", "retry-after": "1" },
      json: { error_code: "draining", code: "draining", retryable: true },
    });
    expect(await running).toMatchObject({ status: 410, json: { error_code: "session_gone" } });
    expect(await agent.ended).toBe(0);
    expect(await remains(agent.facts)).toEqual({ groups: [], processes: 0, mounts: [] });
    await expect(create()).rejects.toThrow(/ENOENT|ECONNREFUSED/);
  });

  it("takes the place of a socket that a killed agent left, and not that of one that answers", async () => {
    await using killed = await AgentProcess.start(options);
    killed.signal("SIGKILL");
    await killed.ended;
    await using next = await AgentProcess.start(options);
    expect((await ask({ socketPath: next.facts.socket }, "GET", "/v1/health")).status).toBe(200);
    expect(await next.stop()).toBe(0);

    const other = createServer().listen(next.facts.socket);
    await once(other, "listening");
    await expect(AgentProcess.start(options)).rejects.toThrow(/another process listens/);
    other.close();
  });
});
