// SPDX-License-Identifier: Apache-2.0
/**
 * Takes this node's jobs and reports how each ended. Queues are at-least-once: a job that comes again while its first
 * run goes on joins that run, one that comes after it is answered from memory. Only a later attempt of one that failed
 * runs anew.
 */
import { CollimateError, type NodeJob, type NodeReport, type NodeResult } from "@collimate/contracts";
import type { Logger } from "@collimate/telemetry";
import { LRUCache } from "lru-cache";
import type { Engine } from "../engine.ts";

const REMEMBERED = 10_000;

interface Run {
  readonly attempt: number;
  failed: boolean;
  readonly result: Promise<NodeResult>;
}

export class JobRunner {
  readonly #engine: Engine;
  readonly #nodeId: string;
  readonly #report: (report: NodeReport) => Promise<void>;
  readonly #log: Logger;
  /** By operation: a new attempt must not run beside, or after, one that made its sandboxes. */
  readonly #runs = new LRUCache<string, Run>({ max: REMEMBERED });

  constructor(engine: Engine, nodeId: string, report: (report: NodeReport) => Promise<void>, log: Logger) {
    this.#engine = engine;
    this.#nodeId = nodeId;
    this.#report = report;
    this.#log = log;
  }

  async run(job: NodeJob): Promise<void> {
    const log = this.#log.child({ operationId: job.operationId, kind: job.kind });
    const begun = performance.now();
    const known = this.#runs.get(job.operationId);
    const { result: run } = known && (!known.failed || known.attempt >= job.attempt) ? known : this.#start(job);
    const to = { nodeId: this.#nodeId, operationId: job.operationId };
    try {
      const result = await run;
      log.info({ ms: Math.round(performance.now() - begun) }, "done");
      await this.#report({ kind: "finished", ...to, at: Date.now(), result });
    } catch (error) {
      const known =
        error instanceof CollimateError
          ? error
          : new CollimateError("internal", error instanceof Error ? error.message : String(error), { cause: error });
      log.warn({ err: error, ms: Math.round(performance.now() - begun) }, "failed");
      await this.#report({ kind: "failed", ...to, at: Date.now(), failure: known.toFailure() });
    }
  }

  #start(job: NodeJob): Run {
    const run: Run = { attempt: job.attempt, failed: false, result: this.#perform(job) };
    run.result.catch(() => (run.failed = true));
    this.#runs.set(job.operationId, run);
    return run;
  }

  #perform(job: NodeJob): Promise<NodeResult> {
    switch (job.kind) {
      case "bake":
        return this.#engine.bake(job, (phase) =>
          this.#report({
            kind: "phase",
            nodeId: this.#nodeId,
            operationId: job.operationId,
            templateId: job.templateId,
            at: Date.now(),
            phase,
          }),
        );
      case "create":
        return this.#engine.create(job);
      case "fork":
        return this.#engine.fork(job);
      case "suspend":
        return this.#engine.suspend(job);
      case "resume":
        return this.#engine.resume(job);
      case "delete":
        return this.#engine.delete(job);
      case "drop_template":
        return this.#engine.dropTemplate(job);
    }
  }
}
