// SPDX-License-Identifier: Apache-2.0
/** The whole api on a real Postgres and Redis, with a database of its own, and two tenants to ask it things. */
import type { Tier } from "@collimate/contracts";
import { migrate, openDatabase } from "@collimate/db";
import type { Database } from "@collimate/db";
import { openQueues } from "@collimate/queue";
import type { Queues } from "@collimate/queue";
import { createLogger } from "@collimate/telemetry";
import type { Logger } from "@collimate/telemetry";
import { freshDatabase } from "@collimate/testing";
import { afterAll, afterEach, beforeAll, inject } from "vitest";
import { startApi } from "../src/index.ts";
import type { Api, ApiConfig } from "../src/index.ts";
import { startExecPeer } from "./exec-peer.ts";
import type { ExecPeer } from "./exec-peer.ts";
import { PlacementPeer } from "./placement-peer.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // The border of a test: bodies are looked into field by field.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

export interface ApiUnderTest extends AsyncDisposable {
  readonly api: Api;
  readonly database: Database;
  readonly peer: ExecPeer;
  readonly placement: PlacementPeer;
  readonly queues: Queues;
  readonly config: ApiConfig;
  readonly log: Logger;
  readonly redisUrl: string;
  /** A new tenant. */
  tenant(tier?: Tier): Promise<{ tenantId: string; apiKey: string; ask: Ask }>;
}

export const ADMIN_TOKEN = "test-admin-token-0123456789abcdef";
export const AGENT_SECRET = "test-agent-secret-0123456789abcdef";

export async function startApiUnderTest(overrides: Partial<ApiConfig> = {}): Promise<ApiUnderTest> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = await freshDatabase();
  await migrate(databaseUrl);
  const redisUrl = ownRedis();
  const database = opened.use(openDatabase(databaseUrl));
  const queues = opened.use(openQueues(redisUrl));
  const peer = opened.use(await startExecPeer(AGENT_SECRET));
  const placement = opened.use(new PlacementPeer(database, queues, peer));
  await placement.addNode();
  const config: ApiConfig = {
    databaseUrl,
    redisUrl,
    queuePrefix: "collimate",
    agentSecret: AGENT_SECRET,
    adminToken: ADMIN_TOKEN,
    host: "127.0.0.1",
    port: 0,
    logLevel: "silent",
    holdMs: 10_000,
    drainMs: 2_000,
    earlyReplyMs: 10_000,
    blankMs: 5_000,
    execBufferBytes: 1_073_741_824,
    rates: { vcpuSecondMicros: 10, gibSecondMicros: 2 },
    ...overrides,
  };
  const log = createLogger({ service: "api-test", level: process.env["TEST_LOG_LEVEL"] ?? "silent" });
  const api = opened.use(await startApi(config, log));
  const resources = opened.move();
  return {
    api,
    database,
    peer,
    placement,
    queues,
    config,
    log,
    redisUrl,
    async tenant(tier = "pro") {
      const { tenantId, apiKey } = await api.services.tenants.create("a tenant", tier);
      return { tenantId, apiKey, ask: askWith(api.url, apiKey) };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Files run at the same time, each with a Redis database of its own, so that none takes another's jobs. */
function ownRedis(): string {
  const url = new URL(inject("redisUrl"));
  url.pathname = `/${process.env["VITEST_POOL_ID"] ?? "0"}`;
  return url.href;
}

/** For a whole test file: started before its first test, stopped after its last; what a test had operations answer ends with the test. */
export function apiForFile(overrides: Partial<ApiConfig> = {}): () => ApiUnderTest {
  let running: ApiUnderTest | undefined;
  beforeAll(async () => {
    running = await startApiUnderTest(overrides);
  });
  afterEach(() => {
    if (running) running.placement.answer = () => undefined;
  });
  afterAll(() => running?.[Symbol.asyncDispose]());
  return () => {
    if (!running) throw new Error("the api of this file is not running");
    return running;
  };
}

export function askWith(url: string, token: string | undefined): Ask {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };
}

/** A live template and a running sandbox of it. */
export async function sandboxOf(ask: Ask): Promise<{ template: string; sandbox: string }> {
  const template = await ask("POST", "/v1/templates", { name: "py", image: "registry.test/py@sha256:1", pool: { width: 4 } });
  const sandbox = await ask("POST", "/v1/sandboxes", { template: template.body.id });
  if (sandbox.status !== 201) throw new Error(`no sandbox: ${JSON.stringify(sandbox.body)}`);
  return { template: template.body.id, sandbox: sandbox.body.id };
}
