// SPDX-License-Identifier: Apache-2.0
/** A small world for tests: a database, queues, schedulers and simulated agents of its own, and a clock that only the test moves. */
import { type Failure, LIVE_STATES, newId, type OperationEnd, operationEndSchema, type OperationKind } from "@collimate/contracts";
import { type Database, migrate, openDatabase, type Operation, type Prisma, type Sandbox, type Template } from "@collimate/db";
import { openQueues, type Queues } from "@collimate/queue";
import { createLogger } from "@collimate/telemetry";
import { freshDatabase, SimulatedAgent, type SimulatedAgentOptions } from "@collimate/testing";
import { inject } from "vitest";
import { type Config, type Policy, readConfig } from "../config.ts";
import { type Scheduler, startScheduler } from "../scheduler.ts";

export const RESOURCES = { vcpus: 2, memory_mib: 512, disk_mib: 1024, pids: 128 };
export const TENANT = "ten_a";

export class World implements AsyncDisposable {
  readonly db: Database;
  readonly queues: Queues;
  readonly config: Config;
  readonly #stack: AsyncDisposableStack;
  #now = Date.parse("2026-03-01T00:00:00Z");

  private constructor(config: Config, stack: AsyncDisposableStack) {
    this.config = config;
    this.#stack = stack;
    this.db = stack.use(openDatabase(config.databaseUrl));
    this.queues = stack.use(openQueues(config.redisUrl, { prefix: config.queuePrefix }));
  }

  static async open(policy: Partial<Policy> = {}, environment: Record<string, string> = {}): Promise<World> {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl);
    const config = readConfig({
      DATABASE_URL: databaseUrl,
      REDIS_URL: inject("redisUrl"),
      QUEUE_PREFIX: newId("request"),
      SCHEDULER_PORT: "0",
      SCHEDULER_SWEEP_MS: "25",
      ...environment,
    });
    const world = new World({ ...config, policy: { ...config.policy, ...policy } }, new AsyncDisposableStack());
    await world.tenant(TENANT);
    return world;
  }

  readonly now = () => new Date(this.#now);
  pass(ms: number): Date {
    this.#now += ms;
    return this.now();
  }

  async scheduler(): Promise<Scheduler> {
    const destination = process.env["TEST_LOG"] ? process.stderr : { write: () => {} };
    return this.#stack.use(
      await startScheduler(this.config, {
        log: createLogger({ service: "scheduler", level: process.env["TEST_LOG"] ?? "info", destination }),
        now: this.now,
      }),
    );
  }

  async agent(nodeId: string, options: Partial<SimulatedAgentOptions> = {}): Promise<SimulatedAgent> {
    const agent = this.#stack.use(
      new SimulatedAgent({ redisUrl: this.config.redisUrl, prefix: this.config.queuePrefix, nodeId, now: this.now, ...options }),
    );
    await agent.start();
    return agent;
  }

  /** Time passes, and the agents that are alive say so. */
  async beat(ms: number, ...agents: SimulatedAgent[]): Promise<void> {
    for (const agent of agents) await this.until(async () => (await this.node(agent.nodeId)) !== null, "the first heartbeat is recorded");
    this.pass(ms);
    for (const agent of agents) {
      await agent.beat();
      await this.until(async () => (await this.node(agent.nodeId)).heartbeatAt.getTime() === this.#now, "the heartbeat is recorded");
    }
  }

  async tenant(id: string): Promise<void> {
    await this.db.client.tenant.create({ data: { id, name: id, tier: "pro" } });
  }

  async template(id = newId("template"), set: Partial<Prisma.TemplateUncheckedCreateInput> = {}): Promise<Template> {
    return this.db.client.template.create({
      data: {
        id,
        tenantId: TENANT,
        name: id,
        image: "registry/image@sha256:0",
        spec: { ready: { cmd: "true" }, resources: RESOURCES },
        specHash: "h",
        declared: 4,
        ...set,
      },
    });
  }

  /** A template baked through the queues, so that some node holds it. */
  async bakedTemplate(): Promise<Template> {
    const template = await this.template();
    await this.done(await this.bake(template));
    return this.db.client.template.findUniqueOrThrow({ where: { id: template.id } });
  }

  bake(template: Template): Promise<Operation> {
    return this.request("bake", { templateId: template.id });
  }

  /** As the api writes it: row and operation, then a word on the queue. */
  async create(template: Template, operation: Partial<Prisma.OperationCreateInput> = {}, tenantId = TENANT): Promise<Operation> {
    const id = newId("sandbox");
    await this.db.client.sandbox.create({
      data: { id, tenantId, templateId: template.id, resources: RESOURCES, createdAt: this.now(), lastActiveAt: this.now() },
    });
    return this.request("create", { templateId: template.id, sandboxIds: [id], tenantId, ...operation });
  }

  async fork(parent: Sandbox, count: number, operation: Partial<Prisma.OperationCreateInput> = {}): Promise<Operation> {
    const id = newId("operation");
    const sandboxIds = Array.from({ length: count }, () => newId("sandbox"));
    await this.db.client.sandbox.createMany({
      data: sandboxIds.map((childId, ordinal) => ({
        id: childId,
        tenantId: parent.tenantId,
        templateId: parent.templateId,
        parentId: parent.id,
        groupId: id,
        ordinal,
        resources: RESOURCES,
        createdAt: this.now(),
        lastActiveAt: this.now(),
        seed: "ab".repeat(32),
      })),
    });
    return this.request("fork", { id, templateId: parent.templateId, sandboxIds, request: { parentId: parent.id }, ...operation });
  }

  on(kind: OperationKind, ...sandboxIds: string[]): Promise<Operation> {
    return this.request(kind, { sandboxIds });
  }

  async request(kind: OperationKind, set: Partial<Prisma.OperationCreateInput>): Promise<Operation> {
    const operation = await this.db.client.operation.create({
      data: { id: newId("operation"), tenantId: TENANT, kind, request: {}, createdAt: this.now(), ...set },
    });
    await this.queues.enqueuePlacement({ operationId: operation.id });
    return operation;
  }

  /** A sandbox that runs. */
  async running(template: Template): Promise<Sandbox> {
    const operation = await this.create(template);
    await this.done(operation);
    return this.sandbox(operation.sandboxIds);
  }

  async end(operation: Pick<Operation, "id">): Promise<OperationEnd> {
    const poll = async () => operationEndSchema.safeParse(await this.operation(operation)).data;
    const end = await this.queues.waitForOperation(operation.id, { timeoutMs: 20_000, pollMs: 500, poll });
    if (!end) throw new Error(`operation ${operation.id} did not end: ${JSON.stringify(await this.operation(operation))}`);
    return end;
  }

  async done(operation: Pick<Operation, "id">): Promise<void> {
    const end = await this.end(operation);
    if (end.state !== "done") throw new Error(`operation ${operation.id} failed: ${JSON.stringify(end.failure)}`);
  }

  async failure(operation: Pick<Operation, "id">): Promise<Failure> {
    const end = await this.end(operation);
    if (end.state !== "failed") throw new Error(`operation ${operation.id} did not fail`);
    return end.failure;
  }

  operation({ id }: Pick<Operation, "id">): Promise<Operation> {
    return this.db.client.operation.findUniqueOrThrow({ where: { id } });
  }

  sandbox(ids: readonly string[]): Promise<Sandbox> {
    return this.db.client.sandbox.findUniqueOrThrow({ where: { id: ids[0] ?? "" } });
  }

  sandboxes(ids: readonly string[]): Promise<Sandbox[]> {
    return this.db.client.sandbox.findMany({ where: { id: { in: [...ids] } }, orderBy: { ordinal: "asc" } });
  }

  node(id: string) {
    return this.db.client.node.findUniqueOrThrow({ where: { id } });
  }

  /** [start, end] of the sandbox's metered time, in ms since `from`. */
  async metered(sandboxId: string, from: Date): Promise<[number, number | null][]> {
    const rows = await this.db.client.meterInterval.findMany({ where: { sandboxId }, orderBy: { startedAt: "asc" } });
    return rows.map((row) => [row.startedAt.getTime() - from.getTime(), row.endedAt ? row.endedAt.getTime() - from.getTime() : null]);
  }

  liveCount(): Promise<number> {
    return this.db.client.sandbox.count({ where: { state: { in: [...LIVE_STATES] } } });
  }

  /** Waits for what other processes bring about; the database is the only place where it shows. */
  async until(condition: () => Promise<boolean>, what = condition.toString()): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (!(await condition().catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`it never came to: ${what}`);
      await this.db.client.$queryRaw`SELECT 1::int AS one FROM pg_sleep(0.005)`;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}
