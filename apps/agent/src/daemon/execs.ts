// SPDX-License-Identifier: Apache-2.0
/** Execs of this surface: a bounded number at once, their output within a bound, the rest waits in line. */
import { CollimateError, type Egress, type ExecReply, type ExecRequest } from "@collimate/contracts";
import pLimit from "p-limit";
import { execInSandbox } from "../sandbox/exec.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { draining } from "./errors.ts";
import { renderExec } from "./exec-reply.ts";
import { Output, OutputBudget } from "./output.ts";
import type { Sessions } from "./sessions.ts";

/** Callers in line beyond those that run. A client gives up before a longer line has moved. */
const WAITING_MAX = 4_096;
const OUTPUT_HELD_MAX = 1_024 * 2 ** 20;

export class Execs {
  readonly #sessions: Sessions;
  readonly #stopping: AbortSignal;
  readonly #limit;
  readonly #budget = new OutputBudget(OUTPUT_HELD_MAX);

  constructor(sessions: Sessions, maxInflight: number, stopping: AbortSignal) {
    this.#sessions = sessions;
    this.#stopping = stopping;
    this.#limit = pLimit(maxInflight);
  }

  get running(): number {
    return this.#limit.activeCount;
  }
  get queued(): number {
    return this.#limit.pendingCount;
  }
  get maxInflight(): number {
    return this.#limit.concurrency;
  }

  /** A caller that leaves does not stop the command; its time limit does (wire contract, section 5). */
  exec(sessionId: string, requestId: string, body: ExecRequest): Promise<ExecReply> {
    const begun = performance.now();
    return this.#inLine(() => this.#run(this.#sessions.find(sessionId), requestId, body, begun, 0));
  }

  /** One sandbox for one exec, ended whatever happens. A caller that leaves ends it: nothing of it can be seen later. */
  once(of: { template: string; egress: Egress | null }, requestId: string, body: ExecRequest, caller: AbortSignal): Promise<ExecReply> {
    const begun = performance.now();
    return this.#inLine(async () => {
      caller.throwIfAborted();
      const { sandbox, forkTimeMs } = await this.#sessions.open(of.template, of.egress);
      try {
        return await this.#run(sandbox, requestId, body, begun, forkTimeMs, caller);
      } finally {
        await this.#sessions.close(sandbox.id);
      }
    });
  }

  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    if (this.#stopping.aborted) throw draining();
    if (this.queued >= WAITING_MAX) throw new CollimateError("at_capacity", `${WAITING_MAX} execs wait already; nothing was run`);
    return this.#limit(() => {
      if (this.#stopping.aborted) throw draining();
      if (this.#budget.exhausted) throw new CollimateError("at_capacity", "this node holds as much output as it may; nothing was run");
      return work();
    });
  }

  async #run(
    sandbox: Sandbox,
    requestId: string,
    body: ExecRequest,
    begun: number,
    forkTimeMs: number,
    caller = new AbortController().signal,
  ): Promise<ExecReply> {
    using stdout = new Output(this.#budget);
    using stderr = new Output(this.#budget);
    const exit = await execInSandbox(sandbox, body, { stdout: stdout.add, stderr: stderr.add }, caller);
    return renderExec(requestId, exit, stdout.bytes(), stderr.bytes(), { forkTimeMs, totalTimeMs: performance.now() - begun });
  }
}
