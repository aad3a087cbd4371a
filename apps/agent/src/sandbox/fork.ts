// SPDX-License-Identifier: Apache-2.0
/**
 * The live fork: one snapshot of the running parent, N restores from a holder of it. All children or none.
 * The order is the one of ARCHITECTURE.md, "How a fork works".
 */
import { CollimateError, newId, type NodeJobOf, type NodeResult } from "@collimate/contracts";
import type { Holder } from "@collimate/criu";
import type { Logger } from "@collimate/telemetry";
import type { LimitFunction } from "p-limit";
import type { Holders } from "../holder/holders.ts";
import { limitsOf } from "../slot/limits.ts";
import type { Slots } from "../slot/slots.ts";
import type { SnapshotStore } from "../snapshot/store.ts";
import type { SnapshotTaker, Taken } from "../snapshot/take.ts";
import type { Ender } from "./end.ts";
import { endpointsOf } from "./endpoints.ts";
import type { SandboxRegistry } from "./registry.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Starter } from "./start.ts";

export interface ForkParts {
  readonly registry: SandboxRegistry;
  readonly slots: Slots;
  readonly snapshots: SnapshotStore;
  readonly taker: SnapshotTaker;
  readonly holders: Holders;
  readonly starter: Starter;
  readonly ender: Ender;
  /** Restores at a time on this node. */
  readonly restores: LimitFunction;
  /** Asks the kernel to re-key every user-space generator of its own (vDSO getrandom). */
  readonly reseedKernel: () => Promise<void>;
  readonly log: Logger;
}

type ForkJob = NodeJobOf<"fork">;
type ForkResult = Extract<NodeResult, { kind: "fork" }>;

export class Forker {
  readonly #parts: ForkParts;

  constructor(parts: ForkParts) {
    this.#parts = parts;
  }

  fork(job: ForkJob): Promise<ForkResult> {
    const parent = this.#parts.registry.live(job.parentId);
    return parent.turns.take("fork", () => this.#fork(parent, job));
  }

  async #fork(parent: Sandbox, job: ForkJob): Promise<ForkResult> {
    const { slots, snapshots, holders } = this.#parts;
    const begun = performance.now();
    const places = await slots.take(job.children.length, limitsOf(job.resources));
    const children: Sandbox[] = [];
    let taken: Taken | undefined;
    try {
      if (parent.ending) throw new CollimateError("session_gone", `sandbox ${parent.id} has ended`);
      const base = await holders.resident(parent.snapshotId);
      taken = await parent.links.whileDetached(() =>
        this.#parts.taker.take({
          id: newId("snapshot"),
          kind: "fork",
          sandbox: parent,
          base: base && snapshots.get(parent.snapshotId),
          leaveRunning: true,
        }),
      );
      const { snapshot, dump } = taken;
      const holder = base && dump.kind === "delta" ? await holders.derive(base, snapshot) : await holders.ensure(snapshot);
      await this.#parts.reseedKernel();
      await this.#startAll(job, parent, taken, holder, places, children);
      return {
        kind: "fork",
        parentId: parent.id,
        snapshotId: snapshot.manifest.id,
        pauseMs: dump.pauseMs,
        forkTimeMs: performance.now() - begun,
        children: job.children.map(({ sandboxId }) => {
          const child = this.#parts.registry.live(sandboxId);
          return { sandboxId, startedAt: child.startedAt, endpoints: endpointsOf(child) };
        }),
      };
    } catch (error) {
      await Promise.all(children.map((child) => this.#parts.ender.end(child)));
      throw error instanceof CollimateError
        ? error
        : new CollimateError("fork_failed", `fork of ${parent.id}: ${error instanceof Error ? error.message : String(error)}`, {
            cause: error,
          });
    } finally {
      // Slots that no child took (all of them, or those of the children that failed) go back.
      const used = new Set(children.map((child) => child.slot));
      await Promise.all(places.filter((slot) => !used.has(slot)).map((slot) => slots.give(slot)));
      if (taken) {
        // From here on the children keep it: its layer is below theirs, its holder is what their own forks start from.
        const id = taken.snapshot.manifest.id;
        await snapshots
          .release(id)
          .catch((error: unknown) => this.#parts.log.error({ err: error, snapshotId: id }, "fork snapshot not freed"));
      }
    }
  }

  async #startAll(
    job: ForkJob,
    parent: Sandbox,
    taken: Taken,
    holder: Holder,
    places: readonly Sandbox["slot"][],
    children: Sandbox[],
  ): Promise<void> {
    const { restores, starter, registry } = this.#parts;
    let failed = false;
    const outcomes = await Promise.allSettled(
      job.children.map((wanted, position) =>
        restores(async () => {
          const slot = places[position];
          if (failed || !slot) return;
          try {
            const child = await starter.start({
              id: wanted.sandboxId,
              tenantId: parent.tenantId,
              resources: job.resources,
              egress: job.egress,
              snapshot: taken.snapshot,
              holder,
              slot,
            });
            children.push(child);
            registry.add(child);
          } catch (error) {
            failed = true;
            throw new CollimateError(
              "fork_failed",
              `child ${position} of ${job.children.length} could not be started: ${error instanceof Error ? error.message : String(error)}`,
              {
                cause: error,
                ...(error instanceof CollimateError && error.detail ? { detail: error.detail } : {}),
              },
            );
          }
        }),
      ),
    );
    const broken = outcomes.find((outcome) => outcome.status === "rejected");
    if (broken) throw broken.reason;
  }
}
