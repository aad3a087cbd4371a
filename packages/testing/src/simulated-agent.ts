// SPDX-License-Identifier: Apache-2.0
/**
 * An agent without a kernel under it: speaks the real queues, keeps what it "runs" in memory. For tests of what is above
 * agents, and for scale: thousands fit into one process. It answers repeated jobs from its journal, as agents must.
 */
import type { Failure, Heartbeat, NodeJob, NodeJobOf, NodeReport, NodeResult } from "@collimate/contracts";
import { openQueues, type Queues } from "@collimate/queue";

export interface SimulatedAgentOptions {
  readonly redisUrl: string;
  readonly prefix?: string;
  readonly nodeId: string;
  readonly url?: string;
  readonly slots?: number;
  readonly memoryMib?: number;
  /** What each sandbox takes from the node's free memory. */
  readonly sandboxMib?: number;
  /** Private memory that the bake of a template reports. */
  readonly privateBytes?: number;
  /** [snapshot id, template id] of what is on its disk from the start. */
  readonly snapshots?: readonly (readonly [string, string])[];
  /** What already lives on it: it took over from an agent before it. */
  readonly sandboxes?: readonly string[];
  readonly now?: () => Date;
}

type Kind = NodeJob["kind"];
type Handler = (job: NodeJob) => Promise<NodeResult>;

/** Thrown by a behaviour: the job is reported as failed. */
export class SimulatedFailure extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export class SimulatedAgent implements AsyncDisposable {
  /** Every job that came, repeats too. */
  readonly jobs: NodeJob[] = [];
  readonly sandboxes: Set<string>;
  readonly snapshots = new Map<string, { templateId: string; warm: number; frozen: number }>();
  readonly nodeId: string;
  draining = false;
  /** Its snapshots are in the registry too. */
  pushes = false;
  /** Every report goes out twice, as an at-least-once queue may do it. */
  repeatsReports = false;
  /** So many of the next outcomes of jobs get lost on their way. */
  losesReports = 0;
  readonly #options: SimulatedAgentOptions;
  readonly #queues: Queues;
  readonly #journal = new Map<string, { readonly report: NodeReport; readonly attempt: number }>();
  readonly #before = new Map<Kind, (job: NodeJob) => Promise<void>>();
  readonly #arrivals: { readonly kind: Kind; readonly resolve: (job: NodeJob) => void }[] = [];
  #starts = 0;
  #beating: NodeJS.Timeout | undefined;

  constructor(options: SimulatedAgentOptions) {
    this.#options = options;
    this.nodeId = options.nodeId;
    this.sandboxes = new Set(options.sandboxes);
    for (const [snapshotId, templateId] of options.snapshots ?? []) this.snapshots.set(snapshotId, { templateId, warm: 0, frozen: 0 });
    this.#queues = openQueues(options.redisUrl, options.prefix ? { prefix: options.prefix } : {});
  }

  /** Takes jobs from now on and sends its first heartbeat. */
  async start(): Promise<this> {
    this.#queues.nodeWorker(this.nodeId, (job) => this.#take(job), { concurrency: 64 });
    await this.beat();
    return this;
  }

  now(): Date {
    return this.#options.now?.() ?? new Date();
  }

  heartbeat(): Heartbeat {
    const { slots = 64, memoryMib = 65_536, sandboxMib = 8 } = this.#options;
    const used = this.sandboxes.size;
    return {
      kind: "heartbeat",
      nodeId: this.nodeId,
      at: this.now().getTime(),
      bootId: "boot",
      startId: `start-${this.#starts}`,
      url: this.#options.url ?? "http://127.0.0.1:1",
      draining: this.draining,
      room: {
        memoryTotalMib: memoryMib,
        memoryFreeMib: Math.max(0, memoryMib - used * sandboxMib),
        slotsTotal: slots,
        slotsFree: Math.max(0, slots - used),
        vcpus: 8,
        diskFreeMib: 100_000,
      },
      facts: { kernel: "6.1.0", criu: "4.2", arch: "x64", cgroup: "v2", cpuFeaturesHash: "0" },
      snapshots: [...this.snapshots].map(([snapshotId, one]) => ({
        snapshotId,
        ...one,
        resident: true,
        pushed: this.pushes,
        privateBytes: this.#options.privateBytes ?? 0,
      })),
      sandboxes: [...this.sandboxes],
    };
  }

  async beat(): Promise<void> {
    await this.#queues.report(this.heartbeat());
  }

  /** Heartbeats by themselves, for whoever does not drive them. */
  beatEvery(ms: number): void {
    clearInterval(this.#beating);
    this.#beating = setInterval(() => void this.beat().catch(() => {}), ms);
  }

  async report(report: NodeReport): Promise<void> {
    await this.#queues.report(report);
    if (this.repeatsReports) await this.#queues.report(report);
  }

  /** Runs before each job of the kind; may wait, or throw a SimulatedFailure. */
  before(kind: Kind, behaviour: (job: NodeJob) => Promise<void>): void {
    this.#before.set(kind, behaviour);
  }

  /** The next job of the kind to come. */
  next(kind: Kind): Promise<NodeJob> {
    const { promise, resolve } = Promise.withResolvers<NodeJob>();
    this.#arrivals.push({ kind, resolve });
    return promise;
  }

  /** Jobs of the kind wait until the returned function is called. */
  hold(kind: Kind): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.before(kind, () => promise);
    return () => {
      this.#before.delete(kind);
      resolve();
    };
  }

  /** All jobs of the kind fail from now on. */
  fail(kind: Kind, failure: Failure): void {
    this.before(kind, async () => {
      throw new SimulatedFailure(failure);
    });
  }

  succeed(kind: Kind): void {
    this.#before.delete(kind);
  }

  /** The sandbox is gone and the agent does not say so. */
  vanish(sandboxId: string): void {
    this.sandboxes.delete(sandboxId);
  }

  async exit(sandboxId: string, reason: string): Promise<void> {
    this.sandboxes.delete(sandboxId);
    await this.report({ kind: "exited", nodeId: this.nodeId, sandboxId, at: this.now().getTime(), reason });
  }

  async active(sandboxId: string, count = 1): Promise<void> {
    await this.report({
      kind: "activity",
      nodeId: this.nodeId,
      at: this.now().getTime(),
      execs: [{ sandboxId, count, lastAt: this.now().getTime() }],
    });
  }

  /** A new agent process: a new startId, nothing lives on, snapshots are still on disk. */
  async restart(): Promise<void> {
    this.#starts += 1;
    this.sandboxes.clear();
    await this.beat();
  }

  async stop(): Promise<void> {
    clearInterval(this.#beating);
    await this.#queues.close();
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #take(job: NodeJob): Promise<void> {
    this.jobs.push(job);
    for (const arrival of this.#arrivals.filter((one) => one.kind === job.kind)) {
      this.#arrivals.splice(this.#arrivals.indexOf(arrival), 1);
      arrival.resolve(job);
    }
    // As an agent does: only a later attempt of one that failed runs anew.
    const known = this.#journal.get(job.operationId);
    const isKnown = known && (known.report.kind !== "failed" || known.attempt >= job.attempt);
    const report = isKnown ? known.report : await this.#do(job);
    this.#journal.set(job.operationId, { report, attempt: job.attempt });
    if (this.losesReports > 0) this.losesReports -= 1;
    else await this.report(report);
  }

  async #do(job: NodeJob): Promise<NodeReport> {
    const base = { nodeId: this.nodeId, operationId: job.operationId };
    try {
      await this.#before.get(job.kind)?.(job);
      const result = await this.#handlers[job.kind](job);
      return { kind: "finished", ...base, at: this.now().getTime(), result };
    } catch (error) {
      if (!(error instanceof SimulatedFailure)) throw error;
      return { kind: "failed", ...base, at: this.now().getTime(), failure: error.failure };
    }
  }

  readonly #handlers: Record<Kind, Handler> = {
    bake: (job) => this.#bake(of(job, "bake")),
    create: (job) => this.#create(of(job, "create")),
    fork: (job) => this.#fork(of(job, "fork")),
    suspend: (job) => this.#suspend(of(job, "suspend")),
    resume: (job) => this.#resume(of(job, "resume")),
    delete: (job) => this.#delete(of(job, "delete")),
    drop_template: (job) => this.#drop(of(job, "drop_template")),
  };

  async #bake({ operationId, snapshotId, templateId, width }: NodeJobOf<"bake">): Promise<NodeResult> {
    const base = { nodeId: this.nodeId, operationId, templateId };
    await this.report({ kind: "phase", ...base, at: this.now().getTime(), phase: "Converting" });
    await this.report({ kind: "phase", ...base, at: this.now().getTime(), phase: "Distributing" });
    this.snapshots.set(snapshotId, { templateId, warm: width, frozen: 0 });
    return {
      kind: "bake",
      snapshotId,
      imageDigest: `sha256:${"0".repeat(64)}`,
      sizeBytes: 1_000_000,
      bakeMode: "built",
      privateBytes: this.#options.privateBytes ?? 0,
    };
  }

  async #create({ child, snapshotId }: NodeJobOf<"create">): Promise<NodeResult> {
    if (!this.snapshots.has(snapshotId)) throw gone(`no snapshot ${snapshotId}`);
    this.#takeSlots([child.sandboxId]);
    return { kind: "create", sandboxId: child.sandboxId, startedAt: this.now().getTime(), forkTimeMs: 3, endpoints: {} };
  }

  async #fork({ parentId, children, operationId }: NodeJobOf<"fork">): Promise<NodeResult> {
    if (!this.sandboxes.has(parentId)) throw gone(`no sandbox ${parentId}`);
    this.#takeSlots(children.map((child) => child.sandboxId));
    const startedAt = this.now().getTime();
    return {
      kind: "fork",
      parentId,
      snapshotId: `snp_${operationId}`,
      pauseMs: 2,
      forkTimeMs: 9,
      children: children.map(({ sandboxId }) => ({ sandboxId, startedAt, endpoints: {} })),
    };
  }

  async #suspend({ sandboxId, snapshotId }: NodeJobOf<"suspend">): Promise<NodeResult> {
    if (!this.sandboxes.delete(sandboxId)) throw gone(`no sandbox ${sandboxId}`);
    return { kind: "suspend", sandboxId, snapshotId, endedAt: this.now().getTime(), sizeBytes: 500_000 };
  }

  async #resume({ sandboxId }: NodeJobOf<"resume">): Promise<NodeResult> {
    this.#takeSlots([sandboxId]);
    return { kind: "resume", sandboxId, startedAt: this.now().getTime(), forkTimeMs: 4, endpoints: {} };
  }

  async #delete({ sandboxIds }: NodeJobOf<"delete">): Promise<NodeResult> {
    return {
      kind: "delete",
      ended: sandboxIds.map((sandboxId) => ({ sandboxId, endedAt: this.now().getTime(), existed: this.sandboxes.delete(sandboxId) })),
    };
  }

  async #drop({ templateId, snapshotIds }: NodeJobOf<"drop_template">): Promise<NodeResult> {
    for (const id of snapshotIds) this.snapshots.delete(id);
    return { kind: "drop_template", templateId };
  }

  /** All or none. */
  #takeSlots(ids: readonly string[]): void {
    const fresh = ids.filter((id) => !this.sandboxes.has(id));
    if (this.sandboxes.size + fresh.length > (this.#options.slots ?? 64))
      throw new SimulatedFailure({ code: "at_capacity", message: "no slot is free" });
    for (const id of fresh) this.sandboxes.add(id);
  }
}

function of<K extends Kind>(job: NodeJob, kind: K): NodeJobOf<K> {
  if (job.kind !== kind) throw new Error(`a ${job.kind} came as ${kind}`);
  return job as NodeJobOf<K>; // the border: the check above is what the type cannot follow
}

function gone(message: string): SimulatedFailure {
  return new SimulatedFailure({ code: "not_found", message });
}
