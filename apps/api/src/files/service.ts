// SPDX-License-Identifier: Apache-2.0
/** Files in and out of a sandbox. As with exec: no queue, and no write to the database. */
import { CollimateError, FILE_TOTAL_MAX_MS } from "@collimate/contracts";
import type { FileReply } from "@collimate/contracts";
import type { ExecTarget } from "../exec/agent-client.ts";
import { NodeAddresses } from "../exec/nodes.ts";
import type { Hold } from "../operation/hold.ts";
import { ensureRunning } from "../sandbox/ensure-running.ts";
import { CallerGone } from "../server/caller-gone.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { AgentFiles } from "./agent-files.ts";
import type { Download, Upload } from "./agent-files.ts";
import { FileFault } from "./file-fault.ts";

export class FilesService implements AsyncDisposable {
  readonly #platform: Platform;
  readonly #agents: AgentFiles;
  readonly #nodes: NodeAddresses;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#agents = new AgentFiles(platform.config.agentSecret);
    this.#nodes = new NodeAddresses(platform.database.client);
  }

  /** A suspended sandbox is resumed first. Nothing is half-written, whoever leaves when. */
  put(caller: Caller, sandboxId: string, upload: Upload, hold: Hold): Promise<FileReply> {
    return this.#transfer(caller, sandboxId, upload.path, hold, (target, signal) => this.#agents.put(target, upload, signal));
  }

  get(caller: Caller, sandboxId: string, path: string, hold: Hold): Promise<Download> {
    return this.#transfer(caller, sandboxId, path, hold, (target, signal) => this.#agents.get(target, path, signal));
  }

  async #transfer<T>(
    caller: Caller,
    sandboxId: string,
    path: string,
    hold: Hold,
    work: (target: ExecTarget, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const sandbox = await ensureRunning(this.#platform, caller, sandboxId, hold);
    if (sandbox.nodeId === null) throw new CollimateError("internal", `sandbox ${sandbox.id} is ${sandbox.state} without a node`);
    const nodeUrl = await this.#nodes.urlOf(sandbox.nodeId);
    const target = { nodeId: sandbox.nodeId, nodeUrl, sandboxId: sandbox.id, tenantId: caller.tenantId };
    try {
      return await work(target, AbortSignal.any([hold.gone, AbortSignal.timeout(FILE_TOTAL_MAX_MS)]));
    } catch (error) {
      if (hold.gone.aborted) throw new CallerGone();
      throw await this.#explain(error, caller, sandbox.id, path);
    }
  }

  async #explain(error: unknown, caller: Caller, sandboxId: string, path: string): Promise<unknown> {
    if (!(error instanceof CollimateError)) return error;
    if (error.code === "session_gone") {
      // The database knows why by now, or will soon.
      const row = await new TenantScope(this.#platform.database.client, caller.tenantId).sandbox(sandboxId);
      return new CollimateError("session_gone", `sandbox ${sandboxId} is gone: ${row.error || error.message}`, { cause: error });
    }
    const ofFile = error.code === "not_found" || error.code === "bad_request" || error.code === "payload_too_large";
    return ofFile ? new FileFault(error, path) : error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agents.close();
  }
}
