// SPDX-License-Identifier: Apache-2.0
/**
 * Sessions: sandboxes for whoever can reach this node's socket. They live on this node only: no tenant, no row in the
 * platform's database, no meter. The heartbeat lists them apart, so that the scheduler does not take them for strays.
 * Nobody but this file ends the ones that were forgotten: an idle limit does.
 */
import { CollimateError, type Egress, newId, type SessionInfo } from "@collimate/contracts";
import type { Logger } from "@collimate/telemetry";
import { LRUCache } from "lru-cache";
import type { Engine } from "../engine.ts";
import { readMemory } from "../room.ts";
import { isLocal, NODE_TENANT } from "../sandbox/owner.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { endpointsOf } from "../sandbox/endpoints.ts";
import type { Manifest } from "@collimate/snapshot";
import { draining, NoTemplate } from "./errors.ts";

const GONE_REMEMBERED = 10_000;

export interface SessionsParts {
  readonly engine: Engine;
  readonly log: Logger;
  /** Sessions without an exec for this long are ended; 0: never. */
  readonly idleMs: number;
  /** Memory that no sandbox may have, in bytes. */
  readonly reserveBytes: number;
  readonly stopping: AbortSignal;
}

export interface Opened {
  readonly sandbox: Sandbox;
  readonly forkTimeMs: number;
}

export class Sessions {
  readonly #parts: SessionsParts;
  /** Why those ended that were not deleted: their callers are told that they are gone, not that they never were. */
  readonly #gone = new LRUCache<string, string>({ max: GONE_REMEMBERED });

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  all(): Sandbox[] {
    return this.#parts.engine.registry.all().filter((sandbox) => isLocal(sandbox) && !sandbox.ending);
  }

  /** `reference`: the id of a template or of one of its snapshots. Names are the platform's: this node does not know them. */
  async open(reference: string, egress: Egress | null = null): Promise<Opened> {
    const { engine, stopping, reserveBytes } = this.#parts;
    if (stopping.aborted) throw draining();
    const manifest = engine.findTemplate(reference);
    if (!manifest) throw new NoTemplate(reference);
    const { available } = await readMemory();
    if (available <= reserveBytes) throw new CollimateError("at_capacity", "this node has no memory left for another sandbox");
    return this.#create(manifest, egress).catch((error: unknown) => {
      // Nothing was kept, whatever it was: clients repeat even a POST on these words.
      if (stopping.aborted) throw draining();
      if (error instanceof CollimateError && error.code === "create_failed")
        throw new CollimateError("session_bringup_failed", error.message, { cause: error });
      throw error;
    });
  }

  async #create(manifest: Manifest, egress: Egress | null): Promise<Opened> {
    const { engine } = this.#parts;
    const id = newId("sandbox");
    const created = await engine.create({
      kind: "create",
      operationId: newId("operation"),
      tenantId: NODE_TENANT,
      attempt: 0,
      templateId: manifest.templateId,
      snapshotId: manifest.id,
      child: { sandboxId: id, seed: null },
      resources: manifest.resources,
      egress,
    });
    return { sandbox: engine.registry.live(id), forkTimeMs: created.forkTimeMs };
  }

  find(id: string): Sandbox {
    const sandbox = this.#parts.engine.registry.find(id);
    if (sandbox && isLocal(sandbox) && !sandbox.ending) return sandbox;
    const reason = this.#gone.get(id) ?? (sandbox && isLocal(sandbox) ? "it is being ended" : undefined);
    if (reason !== undefined) throw new CollimateError("session_gone", `session ${id} is gone: ${reason}`);
    throw new CollimateError("not_found", `this node has no session ${id.slice(0, 80)}`);
  }

  /** Ends it and waits until nothing of it is left. False: there is none of this id. */
  async close(id: string): Promise<boolean> {
    const { engine } = this.#parts;
    this.#gone.delete(id);
    const sandbox = engine.registry.find(id);
    if (!sandbox || !isLocal(sandbox)) return false;
    await engine.end(sandbox);
    return true;
  }

  /** Keeps why a session ended that nobody had asked to end. */
  recordGone(id: string, reason: string): void {
    this.#gone.set(id, reason);
  }

  /** Ends the sessions that nobody has used for too long. */
  async endIdle(now: number = Date.now()): Promise<void> {
    const { idleMs, log, engine } = this.#parts;
    if (idleMs === 0) return;
    const idle = this.all().filter((sandbox) => sandbox.execsRunning === 0 && now - sandbox.lastActiveAt > idleMs);
    await Promise.all(
      idle.map(async (sandbox) => {
        this.recordGone(sandbox.id, `idle for more than ${Math.round(idleMs / 1_000)} s`);
        await engine.end(sandbox).catch((err: unknown) => log.error({ err, sandboxId: sandbox.id }, "an idle session could not be ended"));
      }),
    );
    if (idle.length > 0) log.info({ sessions: idle.length }, "idle sessions were ended");
  }
}

export function sessionInfo(sandbox: Sandbox, now: number = Date.now()): SessionInfo {
  return {
    session_id: sandbox.id,
    template_id: sandbox.templateId,
    age_secs: Math.max(0, now - sandbox.startedAt) / 1_000,
    idle_secs: sandbox.execsRunning > 0 ? 0 : Math.max(0, now - sandbox.lastActiveAt) / 1_000,
    exec_count: sandbox.execCount,
    endpoints: endpointsOf(sandbox),
  };
}
