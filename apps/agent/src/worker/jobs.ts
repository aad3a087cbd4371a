// SPDX-License-Identifier: Apache-2.0
/**
 * Takes this node's jobs and reports how each ended. Queues are at-least-once: a job that comes again while its first
 * run goes on joins that run, one that comes after it is answered from memory.
 */
import { CollimateError, type NodeJob, type NodeReport, type NodeResult } from "@collimate/contracts";
import type { Logger } from "@collimate/telemetry";
import { LRUCache } from "lru-cache";
import type { Engine } from "../engine.ts";

const REMEMBERED = 10_000;

export class JobRunner {
  readonly #engine: Engine;
  readonly #nodeId: string;
  readonly #report: (report: NodeReport) => Promise<void>;
  readonly #log: Logger;
  readonly #runs = new LRUCache<string, Promise<NodeResult>>({ max: REMEMBERED });

  constructor(engine: Engine, nodeId: string, report: (report: NodeReport) => Promise<void>, log: Logger) {
    this.#engine = engine;
    this.#nodeId = nodeId;
    this.#report = report;
    this.#log = log;
  }

  async run(job: NodeJob): Promise<void> {
    const log = this.#log.child({ operationId: job.operationId, kind: job.kind });
    const begun = performance.now();
    const key = `${job.operationId}-${job.attempt}`;
    let run = this.#runs.get(key);
    if (!run) {
      run = this.#perform(job);
      run.catch(() => {});
      this.#runs.set(key, run);
    }
    const to = { nodeId: this.#nodeId, operationId: job.operationId };
    try {
      const result = await run;
      log.info({ ms: Math.round(performance.now() - begun) }, "done");
      await this.#report({ kind: "finished", ...to, at: Date.now(), result });
    } catch (error) {
      const known = error instanceof CollimateError ? error : new CollimateError("internal", error instanceof Error ? error.message : String(error), { cause: error });
      log.warn({ err: error, ms: Math.round(performance.now() - begun) }, "failed");
      await this.#report({ kind: "failed", ...to, at: Date.now(), failure: known.toFailure() });
    }
  }

  #perform(job: NodeJob): Promise<NodeResult> {
    switch (job.kind) {
      case "bake":
        return this.#engine.bake(job, (phase) =>
          this.#report({ kind: "phase", nodeId: this.#nodeId, operationId: job.operationId, templateId: job.templateId, at: Date.now(), phase }),
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
