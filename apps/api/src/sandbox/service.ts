// SPDX-License-Identifier: Apache-2.0
/** Sandboxes: what REST, the daemon's vocabulary and tRPC all call. */
import type { CreateSandbox, ForkReply, ForkSandbox, SandboxRow, SessionInfo } from "@collimate/contracts";
import { handOver } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import type { Idempotency } from "../operation/idempotency.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { createSandbox } from "./create.ts";
import type { Created } from "./create.ts";
import { forkSandbox } from "./fork.ts";
import { changeState, deleteSandbox } from "./lifecycle.ts";
import type { Deleted } from "./lifecycle.ts";
import { renderSandbox, renderSession } from "./render.ts";

export type CreateReply = SandboxRow & { fork_time_ms: number; create_time_ms: number };
export interface SessionReply {
  readonly session_id: string;
  readonly template_id: string;
  readonly fork_time_ms: number;
  readonly create_time_ms: number;
  readonly endpoints: SandboxRow["endpoints"];
}

export class SandboxService {
  readonly #platform: Platform;
  constructor(platform: Platform) {
    this.#platform = platform;
  }

  #scope(caller: Caller): TenantScope {
    return new TenantScope(this.#platform.database.client, caller.tenantId);
  }

  async #make(caller: Caller, body: CreateSandbox, idempotency: Idempotency | null, hold: Hold): Promise<Created> {
    const created = await createSandbox(this.#platform, caller, body, idempotency, hold);
    await handOver(this.#platform, created.operation, hold);
    return created;
  }

  async create(caller: Caller, body: CreateSandbox, idempotency: Idempotency | null, hold: Hold): Promise<CreateReply> {
    const { sandbox, forkTimeMs, createTimeMs } = await this.#make(caller, body, idempotency, hold);
    return { ...renderSandbox(sandbox), fork_time_ms: forkTimeMs, create_time_ms: createTimeMs };
  }

  async createSession(caller: Caller, body: CreateSandbox, idempotency: Idempotency | null, hold: Hold): Promise<SessionReply> {
    const { sandbox, forkTimeMs, createTimeMs } = await this.#make(caller, body, idempotency, hold);
    const { session_id, template_id, endpoints } = renderSandbox(sandbox);
    return { session_id, template_id, fork_time_ms: forkTimeMs, create_time_ms: createTimeMs, endpoints };
  }

  async fork(caller: Caller, id: string, body: ForkSandbox, idempotency: Idempotency | null, hold: Hold): Promise<ForkReply> {
    const forked = await forkSandbox(this.#platform, caller, id, body, idempotency, hold);
    await handOver(this.#platform, forked.operation, hold);
    const now = Date.now();
    return {
      id: forked.parentId,
      parent: forked.parentId,
      group_id: forked.operation.id,
      fork_time_ms: forked.forkTimeMs,
      pause_ms: forked.pauseMs,
      children: forked.children.map((child) => renderSandbox(child, now)),
    };
  }

  async list(caller: Caller): Promise<SandboxRow[]> {
    const now = Date.now();
    return (await this.#scope(caller).sandboxes()).map((row) => renderSandbox(row, now));
  }

  async get(caller: Caller, id: string): Promise<SandboxRow> {
    return renderSandbox(await this.#scope(caller).sandbox(id));
  }

  async listSessions(caller: Caller): Promise<SessionInfo[]> {
    const now = Date.now();
    return (await this.#scope(caller).sandboxes()).map((row) => renderSession(row, now));
  }

  async getSession(caller: Caller, id: string): Promise<SessionInfo> {
    return renderSession(await this.#scope(caller).sandbox(id));
  }

  async suspend(caller: Caller, id: string, hold: Hold): Promise<SandboxRow> {
    return renderSandbox(await changeState(this.#platform, caller, id, "suspend", hold));
  }

  async resume(caller: Caller, id: string, hold: Hold): Promise<SandboxRow> {
    return renderSandbox(await changeState(this.#platform, caller, id, "resume", hold));
  }

  delete(caller: Caller, id: string, hold: Hold): Promise<Deleted> {
    return deleteSandbox(this.#platform, caller, id, hold);
  }
}
