// SPDX-License-Identifier: Apache-2.0
/** A BullMQ worker whose jobs are parsed before anything sees them. */
import { type Job, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { z } from "zod";

/** A job that nobody will run: it does not parse, or it failed for the last time. */
export interface DeadLetter {
  readonly queue: string;
  readonly jobId: string;
  readonly reason: string;
  /** The job's data as JSON, cut. */
  readonly data: string;
}

export interface JobContext {
  readonly jobId: string;
  /** 1 for the first try. */
  readonly attempt: number;
}
export type JobHandler<T> = (job: T, context: JobContext) => Promise<void>;

export interface WorkerOptions {
  /** Jobs run at once; the rest waits in Redis. */
  readonly concurrency?: number;
}

export interface JobWorker extends AsyncDisposable {
  /** Takes no new job and resolves when the running ones have ended. */
  close(): Promise<void>;
}

export interface WorkerSetup {
  readonly queue: string;
  readonly prefix: string;
  readonly connection: Redis;
  readonly onError: (error: Error) => void;
  readonly onDeadLetter: (letter: DeadLetter) => void;
}

/** How often a job may be found without its worker (the process died) before it is given up. */
const STALLED_MAX = 25;

export function startWorker<S extends z.ZodType>(
  setup: WorkerSetup,
  schema: S,
  handler: JobHandler<z.output<S>>,
  options: WorkerOptions = {},
): JobWorker {
  const letter = (job: Job, reason: string) =>
    setup.onDeadLetter({ queue: setup.queue, jobId: job.id ?? "", reason: reason.slice(0, 4_000), data: preview(job.data) });
  const worker = new Worker(
    setup.queue,
    async (job) => {
      const parsed = schema.safeParse(job.data);
      // A job that does not parse never will: it is told and dropped, and the worker goes on.
      if (!parsed.success)
        return letter(job, parsed.error.issues.map((issue) => `${issue.path.join(".") || "job"}: ${issue.message}`).join("; "));
      await handler(parsed.data, { jobId: job.id ?? "", attempt: job.attemptsMade + 1 });
    },
    {
      connection: setup.connection,
      prefix: setup.prefix,
      concurrency: options.concurrency ?? 1,
      maxStalledCount: STALLED_MAX,
      stalledInterval: 15_000,
      settings: { backoffStrategy: (attempts) => backoffMs(attempts) },
    },
  );
  worker.on("error", setup.onError);
  worker.on("failed", (job, error) => {
    if (job && job.attemptsMade >= (job.opts.attempts ?? 1)) letter(job, error.message);
  });
  const close = () => worker.close();
  return { close, [Symbol.asyncDispose]: close };
}

/** 0.1 s, 0.2 s, ... up to 15 s: an outage of the database is waited out, not hammered. */
export function backoffMs(attempts: number): number {
  return Math.min(100 * 2 ** Math.min(attempts - 1, 10), 15_000);
}

function preview(data: unknown): string {
  return (JSON.stringify(data) ?? "undefined").slice(0, 1_000);
}
