// SPDX-License-Identifier: Apache-2.0
/** Suspend: snapshot, then end. Time stands still inside until the resume. */
import { CollimateError, type NodeJobOf, type NodeResult } from "@collimate/contracts";
import type { Artifacts } from "../snapshot/artifacts.ts";
import type { Budget } from "../snapshot/budget.ts";
import type { SnapshotStore } from "../snapshot/store.ts";
import type { SnapshotTaker } from "../snapshot/take.ts";
import type { Ender } from "./end.ts";
import type { SandboxRegistry } from "./registry.ts";

export interface SuspendParts {
  readonly registry: SandboxRegistry;
  readonly snapshots: SnapshotStore;
  readonly taker: SnapshotTaker;
  readonly artifacts: Artifacts;
  readonly budget: Budget;
  readonly ender: Ender;
}

export class Suspender {
  readonly #parts: SuspendParts;

  constructor(parts: SuspendParts) {
    this.#parts = parts;
  }

  async suspend(job: NodeJobOf<"suspend">): Promise<Extract<NodeResult, { kind: "suspend" }>> {
    const { registry, snapshots, taker, ender } = this.#parts;
    if (!registry.find(job.sandboxId) && snapshots.has(job.snapshotId)) return this.#result(job, Date.now());
    const sandbox = registry.live(job.sandboxId);
    return sandbox.turns.take("suspend", async () => {
      if (sandbox.ending) throw new CollimateError("session_gone", `sandbox ${sandbox.id} has ended`);
      await this.#parts.budget.makeRoom(0);
      // Full images: they outlive every holder, and the agent.
      sandbox.ending = true;
      try {
        await sandbox.links.whileDetached(() =>
          taker.take({ id: job.snapshotId, kind: "suspend", sandbox, base: undefined, leaveRunning: false }),
        );
      } catch (error) {
        sandbox.ending = false;
        throw error;
      }
      const endedAt = await ender.end(sandbox);
      this.#parts.artifacts.sealInBackground(job.snapshotId);
      return this.#result(job, endedAt);
    });
  }

  #result(job: NodeJobOf<"suspend">, endedAt: number): Extract<NodeResult, { kind: "suspend" }> {
    const { manifest } = this.#parts.snapshots.get(job.snapshotId);
    return { kind: "suspend", sandboxId: job.sandboxId, snapshotId: job.snapshotId, endedAt, sizeBytes: manifest.privateBytes };
  }
}
