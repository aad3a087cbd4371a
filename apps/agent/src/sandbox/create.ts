// SPDX-License-Identifier: Apache-2.0
/** Create and resume: one restore of a snapshot, which is fetched if it is not on this node. */
import { CollimateError, type NodeJobOf, type NodeResult } from "@collimate/contracts";
import type { LimitFunction } from "p-limit";
import type { Holders } from "../holder/holders.ts";
import { limitsOf } from "../slot/limits.ts";
import type { Slots } from "../slot/slots.ts";
import type { Artifacts } from "../snapshot/artifacts.ts";
import type { SnapshotStore } from "../snapshot/store.ts";
import { endpointsOf } from "./endpoints.ts";
import type { SandboxRegistry } from "./registry.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Starter, StartRequest } from "./start.ts";

export interface CreateParts {
  readonly registry: SandboxRegistry;
  readonly slots: Slots;
  readonly snapshots: SnapshotStore;
  readonly artifacts: Artifacts;
  readonly holders: Holders;
  readonly starter: Starter;
  readonly restores: LimitFunction;
  readonly reseedKernel: () => Promise<void>;
}

export class Creator {
  readonly #parts: CreateParts;

  constructor(parts: CreateParts) {
    this.#parts = parts;
  }

  async create(job: NodeJobOf<"create">): Promise<Extract<NodeResult, { kind: "create" }>> {
    const begun = performance.now();
    const sandbox = await this.#restore(job.snapshotId, {
      id: job.child.sandboxId,
      tenantId: job.tenantId,
      resources: job.resources,
      egress: job.egress,
    });
    return {
      kind: "create",
      sandboxId: sandbox.id,
      startedAt: sandbox.startedAt,
      forkTimeMs: performance.now() - begun,
      endpoints: endpointsOf(sandbox),
    };
  }

  /** The suspended snapshot is given up with the sandbox that it became: the sandbox alone needs it from then on. */
  async resume(job: NodeJobOf<"resume">): Promise<Extract<NodeResult, { kind: "resume" }>> {
    const begun = performance.now();
    const sandbox = await this.#restore(job.snapshotId, {
      id: job.sandboxId,
      tenantId: job.tenantId,
      resources: job.resources,
      egress: null,
    });
    await this.#parts.snapshots.release(job.snapshotId);
    return {
      kind: "resume",
      sandboxId: sandbox.id,
      startedAt: sandbox.startedAt,
      forkTimeMs: performance.now() - begun,
      endpoints: endpointsOf(sandbox),
    };
  }

  async #restore(snapshotId: string, who: Pick<StartRequest, "id" | "tenantId" | "resources" | "egress">): Promise<Sandbox> {
    const { registry, slots, artifacts, holders, starter, restores } = this.#parts;
    const present = registry.find(who.id);
    if (present && !present.ending) return present;
    const snapshot = await artifacts.ready(snapshotId);
    const holder = await holders.ensure(snapshot);
    const [slot] = await slots.take(1, limitsOf(who.resources));
    if (!slot) throw new CollimateError("at_capacity", "no slot");
    try {
      await this.#parts.reseedKernel();
      const sandbox = await restores(() => starter.start({ ...who, snapshot, holder, slot }));
      registry.add(sandbox);
      return sandbox;
    } catch (error) {
      await slots.give(slot);
      throw error instanceof CollimateError
        ? error
        : new CollimateError("create_failed", `sandbox ${who.id}: ${error instanceof Error ? error.message : String(error)}`, {
            cause: error,
          });
    }
  }
}
