// SPDX-License-Identifier: Apache-2.0
/** Running things in a sandbox: the hot path. No queue, and no write to the database. */
import { CollimateError, EXEC_TIMEOUT_DEFAULT_S } from "@collimate/contracts";
import type { CreateSandbox, ExecReply, ExecRequest } from "@collimate/contracts";
import type { Sandbox } from "@collimate/db";
import { keepLease } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import { createSandbox } from "../sandbox/create.ts";
import { ensureRunning } from "../sandbox/ensure-running.ts";
import { beginDelete } from "../sandbox/lifecycle.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { AgentClient } from "./agent-client.ts";
import { NodeAddresses } from "./nodes.ts";
import { OutputBudget, OutputStream } from "./output.ts";
import { renderExec } from "./reply.ts";

/** What a node may take over a command's own time limit: to start, to kill, to send. */
const GRACE_MS = 60_000;

export class ExecService implements AsyncDisposable {
  readonly #platform: Platform;
  readonly #agents: AgentClient;
  readonly #nodes: NodeAddresses;
  readonly budget: OutputBudget;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#agents = new AgentClient(platform.config.agentSecret);
    this.#nodes = new NodeAddresses(platform.database.client);
    this.budget = new OutputBudget(platform.config.execBufferBytes);
  }

  /** A suspended sandbox is resumed first. A caller that leaves does not stop the command; its time limit does. */
  async exec(caller: Caller, sandboxId: string, requestId: string, body: ExecRequest, hold: Hold): Promise<ExecReply> {
    const started = performance.now();
    const sandbox = await ensureRunning(this.#platform, caller, sandboxId, hold);
    return this.#run(caller, sandbox, requestId, body, started, 0);
  }

  /** One sandbox for one exec, deleted whatever happens. */
  async once(
    caller: Caller,
    of: Pick<CreateSandbox, "template" | "egress">,
    requestId: string,
    body: ExecRequest,
    hold: Hold,
  ): Promise<ExecReply> {
    const started = performance.now();
    const created = await createSandbox(this.#platform, caller, of, null, hold);
    // While it runs the sandbox stays on a lease: it must not outlive this process.
    const letGo = keepLease(this.#platform, created.operation);
    try {
      return await this.#run(caller, created.sandbox, requestId, body, started, created.forkTimeMs);
    } finally {
      await beginDelete(this.#platform, caller, created.sandbox.id).catch((error: unknown) => {
        this.#platform.log.warn({ err: error, sandboxId: created.sandbox.id }, "a one-shot sandbox was not deleted; its lease will end it");
      });
      letGo();
    }
  }

  async #run(
    caller: Caller,
    sandbox: Sandbox,
    requestId: string,
    body: ExecRequest,
    started: number,
    forkTimeMs: number,
  ): Promise<ExecReply> {
    if (this.budget.exhausted)
      throw new CollimateError("at_capacity", "the server holds as much output as it may; nothing was run, try again");
    if (sandbox.nodeId === null) throw new CollimateError("internal", `sandbox ${sandbox.id} is ${sandbox.state} without a node`);
    const timeoutSeconds = body.timeout_seconds || EXEC_TIMEOUT_DEFAULT_S;
    const target = {
      nodeId: sandbox.nodeId,
      nodeUrl: await this.#nodes.urlOf(sandbox.nodeId),
      sandboxId: sandbox.id,
      tenantId: caller.tenantId,
    };
    using stdout = new OutputStream(this.budget);
    using stderr = new OutputStream(this.budget);
    const sink = { stdout: (chunk: Buffer) => stdout.add(chunk), stderr: (chunk: Buffer) => stderr.add(chunk) };
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new DOMException("no end within the time limit", "TimeoutError")),
      timeoutSeconds * 1_000 + GRACE_MS,
    );
    try {
      const exit = await this.#agents.exec(target, { ...body, timeout_seconds: timeoutSeconds }, sink, limit.signal);
      return renderExec(requestId, exit, stdout, stderr, timeoutSeconds, { forkTimeMs, totalTimeMs: performance.now() - started });
    } catch (error) {
      throw await this.#explain(error, caller, sandbox);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A node that does not know the sandbox: the database knows why by now, or will soon. */
  async #explain(error: unknown, caller: Caller, sandbox: Sandbox): Promise<unknown> {
    if (!(error instanceof CollimateError) || (error.code !== "not_found" && error.code !== "session_gone")) return error;
    const row = await new TenantScope(this.#platform.database.client, caller.tenantId).sandbox(sandbox.id);
    return new CollimateError("session_gone", `sandbox ${sandbox.id} is gone: ${row.error || error.message}`, { cause: error });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agents.close();
  }
}
