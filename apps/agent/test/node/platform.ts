// SPDX-License-Identifier: Apache-2.0
/** The rest of the platform as the agent sees it: jobs on its queue, reports that come back, execs with a signed token. */
import {
  type AgentExit,
  agentLineSchema,
  agentRefusalSchema,
  CollimateError,
  type ExecRequest,
  newId,
  type NodeJob,
  type NodeJobOf,
  type NodeReport,
  type NodeResult,
  type Ready,
  type Resources,
} from "@collimate/contracts";
import { openQueues, type Queues } from "@collimate/queue";
import { SignJWT } from "jose";
import type { NodeFacts } from "./agent-process.ts";

export const RESOURCES: Resources = { vcpus: 2, memory_mib: 1_024, disk_mib: 1_024, pids: 256 };
const ANSWER_LIMIT_MS = 50_000;

export type Ended = Extract<NodeReport, { kind: "finished" | "failed" }>;
export type ResultOf<K extends NodeResult["kind"]> = Extract<NodeResult, { kind: K }>;

export interface RanCommand {
  readonly exit: AgentExit;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Baked {
  readonly templateId: string;
  readonly snapshotId: string;
}

interface Waiting {
  readonly wants: (report: NodeReport) => boolean;
  readonly resolve: (report: NodeReport) => void;
}

export class Platform implements AsyncDisposable {
  readonly node: NodeFacts;
  readonly tenantId: string;
  readonly queues: Queues;
  readonly reports: NodeReport[] = [];
  readonly #waiting = new Set<Waiting>();

  constructor(node: NodeFacts, tenantId: string = newId("tenant")) {
    this.node = node;
    this.tenantId = tenantId;
    this.queues = openQueues(node.redisUrl);
    this.queues.reportWorker(async (report) => {
      this.reports.push(report);
      for (const waiting of this.#waiting) if (waiting.wants(report)) waiting.resolve(report);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queues.close();
  }

  /** The first report of this sort, of those that came already or are still to come. */
  async next<R extends NodeReport>(wants: (report: NodeReport) => report is R, limitMs = ANSWER_LIMIT_MS): Promise<R> {
    const there = this.reports.find(wants);
    if (there) return there;
    const { promise, resolve, reject } = Promise.withResolvers<NodeReport>();
    const waiting: Waiting = { wants, resolve };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => reject(new Error(`no such report within ${limitMs} ms`)), limitMs);
    try {
      const report = await promise;
      if (!wants(report)) throw new Error("unreachable");
      return report;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }

  base(): { operationId: string; tenantId: string; attempt: number } {
    return { operationId: newId("operation"), tenantId: this.tenantId, attempt: 0 };
  }

  /** Sends a job and waits for its end, good or bad. */
  async send(job: NodeJob): Promise<Ended> {
    await this.queues.nodeQueue(this.node.nodeId).add(job);
    return this.next(
      (report): report is Ended => (report.kind === "finished" || report.kind === "failed") && report.operationId === job.operationId,
    );
  }

  async run<K extends NodeJob["kind"]>(job: NodeJobOf<K>): Promise<ResultOf<K>> {
    const ended = await this.send(job);
    if (ended.kind === "failed") throw CollimateError.fromFailure(ended.failure);
    const { result } = ended;
    const mine = (one: NodeResult): one is ResultOf<K> => one.kind === job.kind;
    if (!mine(result)) throw new Error(`a ${job.kind} answered with a ${result.kind}`);
    return result;
  }

  bakeJob(ready: Ready = {}, image: string = this.node.image): NodeJobOf<"bake"> {
    return {
      kind: "bake",
      ...this.base(),
      templateId: newId("template"),
      snapshotId: newId("snapshot"),
      image,
      ready,
      resources: RESOURCES,
      width: 1,
    };
  }

  async bake(ready?: Ready, image?: string): Promise<Baked> {
    const job = this.bakeJob(ready, image);
    await this.run(job);
    return { templateId: job.templateId, snapshotId: job.snapshotId };
  }

  async create(template: Baked, resources: Partial<Resources> = {}): Promise<string> {
    const sandboxId = newId("sandbox");
    await this.run({
      kind: "create",
      ...this.base(),
      ...template,
      child: { sandboxId, seed: null },
      resources: { ...RESOURCES, ...resources },
      egress: null,
    });
    return sandboxId;
  }

  forkJob(parentId: string, children: readonly string[], resources: Partial<Resources> = {}): NodeJobOf<"fork"> {
    return {
      kind: "fork",
      ...this.base(),
      parentId,
      templateId: newId("template"),
      children: children.map((sandboxId) => ({ sandboxId, seed: null })),
      resources: { ...RESOURCES, ...resources },
      egress: null,
    };
  }

  async fork(parentId: string, width: number): Promise<string[]> {
    const children = sandboxIds(width);
    await this.run(this.forkJob(parentId, children));
    return children;
  }

  delete(...ids: string[]): Promise<ResultOf<"delete">> {
    return this.run({ kind: "delete", ...this.base(), sandboxIds: ids });
  }

  /** The response of an exec request as it comes, for who wants to leave in the middle. */
  async execStream(sandboxId: string, body: ExecRequest, signal?: AbortSignal, tenant: string = this.tenantId): Promise<Response> {
    const token = await new SignJWT({ tenant, op: "exec" })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(sandboxId)
      .setExpirationTime("60s")
      .sign(new TextEncoder().encode(this.node.secret));
    const reply = await fetch(`${this.node.url}/internal/sandboxes/${sandboxId}/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
    if (reply.status !== 200) throw CollimateError.fromFailure(agentRefusalSchema.parse(await reply.json()).failure);
    return reply;
  }

  async exec(sandboxId: string, body: ExecRequest): Promise<RanCommand> {
    const reply = await this.execStream(sandboxId, body);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let exit: AgentExit | undefined;
    for (const text of (await reply.text()).split("\n").filter(Boolean)) {
      const line = agentLineSchema.parse(JSON.parse(text));
      if (line.t === "o") stdout.push(Buffer.from(line.d, "base64"));
      if (line.t === "e") stderr.push(Buffer.from(line.d, "base64"));
      if (line.t === "err") throw CollimateError.fromFailure(line.failure);
      if (line.t === "x") exit = line;
    }
    if (!exit) throw new Error("the stream ended without an end of the command");
    return { exit, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
  }

  /** What a shell command printed; one that fails fails the test. */
  async shell(sandboxId: string, command: string): Promise<string> {
    const { exit, stdout, stderr } = await this.exec(sandboxId, { command, timeout_seconds: 40 });
    if (exit.exit_code !== 0) throw new Error(`${command}: exit code ${exit.exit_code}: ${stderr}`);
    return stdout;
  }

  async python(sandboxId: string, code: string): Promise<string> {
    const { exit, stdout, stderr } = await this.exec(sandboxId, { code, timeout_seconds: 40 });
    if (exit.exit_code !== 0) throw new Error(`${code}: exit code ${exit.exit_code}: ${stderr}`);
    return stdout;
  }
}

export const sandboxIds = (count: number): string[] => Array.from({ length: count }, () => newId("sandbox"));

/** The error that this work ends with. */
export async function failureOf(work: Promise<unknown>): Promise<CollimateError> {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (error instanceof CollimateError) return error;
  throw error;
}
