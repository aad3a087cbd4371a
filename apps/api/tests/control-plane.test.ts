// SPDX-License-Identifier: Apache-2.0
/**
 * The api with the real scheduler, each its own process on real Postgres and Redis, and a simulated agent on the real queues:
 * what the two must agree on without importing each other.
 */
import { migrate, openDatabase } from "@collimate/db";
import type { Database } from "@collimate/db";
import { freePort } from "@collimate/embedded";
import { freshDatabase, SimulatedAgent, SimulatedFailure } from "@collimate/testing";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { ADMIN_TOKEN, AGENT_SECRET, askWith } from "./api-under-test.ts";
import type { Ask } from "./api-under-test.ts";
import { startExecPeer } from "./exec-peer.ts";
import { runPublishedClient, TRAINER } from "./published-client.ts";

/** On the one node. */
const SLOTS = 64;
const opened = new AsyncDisposableStack();
let database: Database;
let agent: SimulatedAgent;
let environment: Record<string, string>;
let api: ChildProcess;
let url: string;
let apiKey: string;
let ask: Ask;

function start(app: string): ChildProcess {
  const main = fileURLToPath(new URL(`../../${app}/src/main.ts`, import.meta.url));
  const child = spawn(process.execPath, [main], { env: environment, stdio: ["ignore", "ignore", "inherit"] });
  opened.defer(() => stop(child));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(force);
}

async function ready(base: string): Promise<void> {
  await vi.waitUntil(
    () =>
      fetch(`${base}/readyz`).then(
        (response) => response.ok,
        () => false,
      ),
    { timeout: 60_000, interval: 100 },
  );
}

beforeAll(async () => {
  const databaseUrl = await freshDatabase();
  await migrate(databaseUrl);
  database = opened.use(openDatabase(databaseUrl));
  const prefix = `control-plane-${process.pid}`;
  const [apiPort, schedulerPort] = [await freePort(), await freePort()];
  url = `http://127.0.0.1:${apiPort}`;
  environment = {
    PATH: process.env["PATH"] ?? "",
    DATABASE_URL: databaseUrl,
    REDIS_URL: inject("redisUrl"),
    QUEUE_PREFIX: prefix,
    AGENT_SECRET,
    ADMIN_TOKEN,
    API_PORT: String(apiPort),
    API_HOLD_SECONDS: "8",
    SCHEDULER_PORT: String(schedulerPort),
    SCHEDULER_SWEEP_MS: "200",
    LOG_LEVEL: "error",
  };
  start("scheduler");
  api = start("api");
  const peer = opened.use(await startExecPeer(AGENT_SECRET, (id) => agent.sandboxes.has(id)));
  agent = opened.use(new SimulatedAgent({ redisUrl: inject("redisUrl"), prefix, nodeId: "node_sim", slots: SLOTS, url: peer.url }));
  await Promise.all([ready(url), ready(`http://127.0.0.1:${schedulerPort}`)]);
  await agent.start();
  agent.beatEvery(500);
  const made = await askWith(url, ADMIN_TOKEN)("POST", "/internal/tenants", { name: "t", tier: "pro" });
  apiKey = made.body.apiKey;
  ask = askWith(url, apiKey);
}, 180_000);
afterAll(() => opened.disposeAsync(), 180_000);

const template = { name: "swe", image: "registry.test/i@sha256:1", pool: { width: 4 } };

async function live(): Promise<string> {
  const made = await ask("POST", "/v1/templates", template);
  await expect.poll(async () => (await ask("GET", `/v1/templates/${made.body.id}`)).body.converge_state).toBe("converged");
  return made.body.id;
}
const liveRows = () => database.client.sandbox.count({ where: { state: { not: "deleted" } } });
/** Nothing on the node and no row: the end of every test. */
async function nothingIsLeft(): Promise<void> {
  await expect.poll(async () => [agent.sandboxes.size, await liveRows()]).toEqual([0, 0]);
}

describe("api, scheduler and agent", () => {
  it("carry the published client through all that a trainer does", async () => {
    agent.before("bake", async (job) => {
      if (job.kind === "bake" && job.image.includes("/bad@"))
        throw new SimulatedFailure({ code: "bake_failed", message: "the ready command gave 3", detail: "last words" });
    });
    expect(await runPublishedClient([TRAINER], apiKey, url)).toMatchObject({
      status: { phase: "Live", converged: true },
      fork: { children: 40, distinct: 40 },
      squares: true,
      round_trip: true,
      after_group: 1,
      after_session: 0,
      env: "env\n",
      rewards: [1, 0],
      row: { state: "running" },
      bake_failed: { phase: "Failed", error: expect.stringContaining("last words") },
      left: 0,
      usage: { live: true },
      template_deleted: { deleted: true },
    });
    agent.succeed("bake");
    await nothingIsLeft();
    await expect.poll(() => [...agent.snapshots.values()].length).toBe(0);
  }, 300_000);

  it("hold a create until room comes free", async () => {
    const id = await live();
    const parent = await ask("POST", "/v1/sandboxes", { template: id });
    const group = await ask("POST", `/v1/sandboxes/${parent.body.id}/fork`, { count: SLOTS - 1 });
    expect(group.body.children).toHaveLength(SLOTS - 1);
    await agent.beat();
    const waiting = ask("POST", "/v1/sandboxes", { template: id });
    await expect.poll(() => database.client.operation.count({ where: { kind: "create", state: "queued" } })).toBe(1);
    expect((await ask("DELETE", `/v1/sandboxes/${group.body.children[0].id}`)).body).toMatchObject({ deleted: true, state: "deleted" });
    expect(await waiting).toMatchObject({ status: 201, body: { state: "running" } });
    const none = await ask("POST", "/v1/sandboxes", { template: id });
    expect(none).toMatchObject({ status: 503, body: { code: "at_capacity" } });
    const rows: { id: string }[] = (await ask("GET", "/v1/sandboxes")).body.sandboxes;
    expect(rows).toHaveLength(SLOTS);
    await Promise.all(rows.map((row) => ask("DELETE", `/v1/sandboxes/${row.id}`)));
    await nothingIsLeft();
  }, 180_000);

  it("leave no child of a group that failed, and the parent goes on", async () => {
    const parent = await ask("POST", "/v1/sandboxes", { template: await live() });
    agent.fail("fork", { code: "fork_failed", message: "child 2 of 4 did not start" });
    expect(await ask("POST", `/v1/sandboxes/${parent.body.id}/fork`, { count: 4 })).toMatchObject({
      status: 500,
      body: { code: "fork_failed", message: "child 2 of 4 did not start" },
    });
    agent.succeed("fork");
    expect(await liveRows()).toBe(1);
    expect((await ask("POST", `/v1/sandboxes/${parent.body.id}/exec`, { command: "echo on" })).body).toMatchObject({
      stdout: "on\n",
      exit_code: 0,
    });
    await ask("DELETE", `/v1/sandboxes/${parent.body.id}`);
    await nothingIsLeft();
  });

  it("suspend and resume, and count only the running time", async () => {
    const { body } = await ask("POST", "/v1/sandboxes", { template: await live() });
    expect((await ask("POST", `/v1/sandboxes/${body.id}/suspend`, {})).body.state).toBe("suspended");
    const first = await ask("GET", "/v1/usage");
    expect((await ask("GET", "/v1/usage")).body.totals).toEqual(first.body.totals);
    expect((await ask("POST", `/v1/sandboxes/${body.id}/exec`, { command: "true" })).body.exit_code).toBe(0);
    await ask("DELETE", `/v1/sandboxes/${body.id}`);
    await nothingIsLeft();
    expect((await ask("GET", "/v1/usage")).body.totals.live_seconds).toBeGreaterThan(first.body.totals.live_seconds);
  });

  it("delete what a caller that left would have got, even when the node had begun", async () => {
    const id = await live();
    const release = agent.hold("create");
    const begun = agent.next("create");
    const leave = new AbortController();
    const creating = fetch(`${url}/v1/sandboxes`, {
      method: "POST",
      signal: leave.signal,
      body: JSON.stringify({ template: id }),
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    });
    await begun;
    leave.abort();
    await expect(creating).rejects.toThrow(/abort/);
    const lapsed = { kind: "create", state: "assigned", waiterUntil: { lte: new Date(Date.now() + 5_000) } };
    await expect.poll(() => database.client.operation.count({ where: lapsed })).toBe(1);
    release();
    await nothingIsLeft();
  });

  it("keep a keyed create alive over a crash of the api", async () => {
    const id = await live();
    const release = agent.hold("create");
    const begun = agent.next("create");
    const create = () => ask("POST", "/v1/sandboxes", { template: id }, { "idempotency-key": "over-a-crash" });
    const first = create().then(
      () => "answered",
      () => "broken",
    );
    await begun;
    const died = once(api, "exit");
    api.kill("SIGKILL");
    await died;
    expect(await first).toBe("broken");
    release();
    api = start("api");
    await ready(url);
    const second = await create();
    expect(second).toMatchObject({ status: 201, body: { state: "running" } });
    expect(await liveRows()).toBe(1);
    await ask("DELETE", `/v1/sandboxes/${second.body.id}`);
    await nothingIsLeft();
  }, 180_000);
});
