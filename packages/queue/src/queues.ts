// SPDX-License-Identifier: Apache-2.0
/** The queues of the platform, typed by contracts. Nothing else knows BullMQ or Redis. */
import {
  type NodeJob,
  nodeJobSchema,
  type NodeReport,
  nodeReportSchema,
  type OperationEnd,
  type PlacementJob,
  placementJobSchema,
  QUEUES,
} from "@collimate/contracts";
import { type Job, type JobsOptions, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { OperationEnds, type WaitOptions } from "./operation-ends.ts";
import { connectRedis } from "./redis.ts";
import { type DeadLetter, type JobHandler, type JobWorker, startWorker, type WorkerOptions } from "./worker.ts";

export interface QueuesOptions {
  /** Prefix of every key in Redis. */
  readonly prefix?: string;
  /** Connection trouble; the connections mend themselves. For the log. */
  readonly onError?: (error: Error) => void;
  /** Jobs given up. For the log. */
  readonly onDeadLetter?: (letter: DeadLetter) => void;
}

/** Where a node job stands in Redis. `ended` is kept for a while, so that repeats of it collapse. */
export type NodeJobState = "absent" | "pending" | "running" | "ended";

export interface NodeQueue {
  /** Adds the job under `<operation id>-<attempt>`; the same again changes nothing. */
  add(job: NodeJob): Promise<void>;
  state(operationId: string, attempt: number): Promise<NodeJobState>;
  /** Adds a job that has ended once more: its outcome was lost, and the agent answers repeats from its journal. */
  repeat(job: NodeJob): Promise<void>;
}

/** Tried again for a good hour, so that an outage of the database loses nothing. */
const DURABLE: JobsOptions = {
  attempts: 300,
  backoff: { type: "custom" },
  removeOnComplete: true,
  removeOnFail: { age: 86_400, count: 1_000 },
};
/** A wake-up: what it points at is in Postgres and is looked for again by the sweep. */
const WAKE_UP: JobsOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };
/** The agent reports failures itself, so an attempt that throws is a fault of the agent. */
const NODE_JOB: JobsOptions = {
  attempts: 3,
  backoff: { type: "custom" },
  removeOnComplete: { age: 3_600, count: 2_000 },
  removeOnFail: { age: 3_600, count: 500 },
};

export class Queues implements AsyncDisposable {
  readonly #producer: Redis;
  readonly #workers: Redis;
  readonly #queues = new Map<string, Queue>();
  readonly #running = new Set<JobWorker>();
  readonly #ends: OperationEnds;
  readonly #prefix: string;
  readonly #onError: (error: Error) => void;
  readonly #onDeadLetter: (letter: DeadLetter) => void;
  #closing: Promise<void> | undefined;

  constructor(url: string, options: QueuesOptions = {}) {
    this.#prefix = options.prefix ?? "collimate";
    this.#onError = options.onError ?? (() => {});
    this.#onDeadLetter = options.onDeadLetter ?? (() => {});
    this.#producer = connectRedis(url, "producer", this.#onError);
    this.#workers = connectRedis(url, "worker", this.#onError);
    this.#ends = new OperationEnds(this.#producer, connectRedis(url, "subscriber", this.#onError), this.#onError);
  }

  /** api -> scheduler: this operation wants a place. A repeat of one still waiting changes nothing. */
  async enqueuePlacement(job: PlacementJob): Promise<void> {
    const data = placementJobSchema.parse(job);
    await this.#queue(QUEUES.placement).add("place", data, { ...WAKE_UP, jobId: data.operationId });
  }

  /** scheduler -> agent */
  nodeQueue(nodeId: string): NodeQueue {
    const queue = this.#queue(QUEUES.node(nodeId));
    const add = async (job: NodeJob) => {
      const data = nodeJobSchema.parse(job);
      await queue.add(data.kind, data, { ...NODE_JOB, jobId: nodeJobId(data.operationId, data.attempt) });
    };
    return {
      add,
      repeat: async (job) => {
        await queue.remove(nodeJobId(job.operationId, job.attempt));
        await add(job);
      },
      state: async (operationId, attempt) => {
        const state = await queue.getJobState(nodeJobId(operationId, attempt));
        if (state === "unknown") return "absent";
        if (state === "active") return "running";
        return state === "completed" || state === "failed" ? "ended" : "pending";
      },
    };
  }

  /** agent -> scheduler. Of the heartbeats of a node at most one waits, the latest, however long nobody takes it. */
  async report(report: NodeReport): Promise<void> {
    const data = nodeReportSchema.parse(report);
    const queue = this.#queue(QUEUES.reports);
    if (data.kind !== "heartbeat") return void (await queue.add(data.kind, data, DURABLE));
    // Two places: while one heartbeat is worked on, the next has where to wait.
    for (const place of [0, 1]) {
      const jobId = `heartbeat-${data.nodeId}-${place}`;
      const there = await queue.getJob(jobId);
      if (!there) return void (await queue.add(data.kind, data, { ...WAKE_UP, jobId }));
      if (await replaceWaiting(there, data)) return;
    }
  }

  placementWorker(handler: JobHandler<PlacementJob>, options?: WorkerOptions): JobWorker {
    return this.#start(QUEUES.placement, (setup) => startWorker(setup, placementJobSchema, handler, options));
  }

  reportWorker(handler: JobHandler<NodeReport>, options?: WorkerOptions): JobWorker {
    return this.#start(QUEUES.reports, (setup) => startWorker(setup, nodeReportSchema, handler, options));
  }

  nodeWorker(nodeId: string, handler: JobHandler<NodeJob>, options?: WorkerOptions): JobWorker {
    return this.#start(QUEUES.node(nodeId), (setup) => startWorker(setup, nodeJobSchema, handler, options));
  }

  /** Tells all who wait that the operation ended. Best effort: the row in Postgres is the truth, and waiters look there too. */
  publishOperation(operationId: string, end: OperationEnd): Promise<void> {
    return this.#ends.publish(operationId, end);
  }

  /** The end of the operation, or undefined at the deadline or when the signal aborts. */
  waitForOperation(operationId: string, options: WaitOptions): Promise<OperationEnd | undefined> {
    return this.#ends.wait(operationId, options);
  }

  /** Rejects when Redis does not answer. */
  async ping(): Promise<void> {
    await this.#producer.ping();
  }

  /** Lets running jobs end, then closes every connection. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#running].map((worker) => worker.close()));
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
    this.#ends.close();
    this.#workers.disconnect();
    this.#producer.disconnect();
  }

  #queue(name: string): Queue {
    const known = this.#queues.get(name);
    if (known) return known;
    if (this.#closing) throw new Error("the queues are closed");
    const queue = new Queue(name, { connection: this.#producer, prefix: this.#prefix, streams: { events: { maxLen: 1_000 } } });
    queue.on("error", this.#onError);
    this.#queues.set(name, queue);
    return queue;
  }

  #start(queue: string, start: (setup: Parameters<typeof startWorker>[0]) => JobWorker): JobWorker {
    if (this.#closing) throw new Error("the queues are closed");
    const worker = start({
      queue,
      prefix: this.#prefix,
      connection: this.#workers,
      onError: this.#onError,
      onDeadLetter: this.#onDeadLetter,
    });
    const tracked: JobWorker = {
      close: async () => {
        await worker.close();
        this.#running.delete(tracked);
      },
      [Symbol.asyncDispose]: () => tracked.close(),
    };
    this.#running.add(tracked);
    return tracked;
  }
}

export function openQueues(url: string, options?: QueuesOptions): Queues {
  return new Queues(url, options);
}

/** False when a worker has it already, or had it: then it may have been taken with what it said before. */
async function replaceWaiting(job: Job, data: NodeReport): Promise<boolean> {
  try {
    await job.updateData(data);
    return await job.isWaiting();
  } catch {
    return false; // it is gone
  }
}

function nodeJobId(operationId: string, attempt: number): string {
  return `${operationId}-${attempt}`;
}
