// SPDX-License-Identifier: Apache-2.0
/** The node's verbs, each in its own file; this one only ties them to the parts they share. */
import type { Heartbeat, NodeJobOf, NodeResult } from "@collimate/contracts";
import type { Baker } from "./bake/bake.ts";
import type { Holders } from "./holder/holders.ts";
import type { Creator } from "./sandbox/create.ts";
import type { Ender } from "./sandbox/end.ts";
import type { Forker } from "./sandbox/fork.ts";
import type { SandboxRegistry } from "./sandbox/registry.ts";
import type { Suspender } from "./sandbox/suspend.ts";
import type { Slots } from "./slot/slots.ts";
import type { SnapshotStore } from "./snapshot/store.ts";

export interface EngineParts {
  readonly registry: SandboxRegistry;
  readonly slots: Slots;
  readonly snapshots: SnapshotStore;
  readonly holders: Holders;
  readonly baker: Baker;
  readonly creator: Creator;
  readonly forker: Forker;
  readonly suspender: Suspender;
  readonly ender: Ender;
}

export class Engine {
  readonly #parts: EngineParts;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  get registry(): SandboxRegistry {
    return this.#parts.registry;
  }
  get slots(): Slots {
    return this.#parts.slots;
  }

  bake(job: NodeJobOf<"bake">, phase: (phase: "Converting" | "Distributing") => Promise<void>): Promise<NodeResult> {
    return this.#parts.baker.bake(job, phase);
  }
  create(job: NodeJobOf<"create">): Promise<NodeResult> {
    return this.#parts.creator.create(job);
  }
  fork(job: NodeJobOf<"fork">): Promise<NodeResult> {
    return this.#parts.forker.fork(job);
  }
  suspend(job: NodeJobOf<"suspend">): Promise<NodeResult> {
    return this.#parts.suspender.suspend(job);
  }
  resume(job: NodeJobOf<"resume">): Promise<NodeResult> {
    return this.#parts.creator.resume(job);
  }

  async delete(job: NodeJobOf<"delete">): Promise<NodeResult> {
    const ended = await Promise.all(
      job.sandboxIds.map(async (sandboxId) => {
        const sandbox = this.registry.find(sandboxId);
        return { sandboxId, existed: sandbox !== undefined, endedAt: sandbox ? await this.#parts.ender.end(sandbox) : Date.now() };
      }),
    );
    return { kind: "delete", ended };
  }

  async dropTemplate(job: NodeJobOf<"drop_template">): Promise<NodeResult> {
    for (const id of job.snapshotIds) if (this.#parts.snapshots.has(id)) await this.#parts.snapshots.release(id);
    return { kind: "drop_template", templateId: job.templateId };
  }

  /** Makes a snapshot's next restore a quick one: its memory is loaded now. */
  async loadHolder(snapshotId: string): Promise<void> {
    await this.#parts.holders.ensure(this.#parts.snapshots.get(snapshotId));
  }

  /** Snapshots that can be restored here: warm = prepared slots beside a resident holder, frozen = on disk only. */
  templatesHere(): Heartbeat["snapshots"] {
    return this.#parts.snapshots.list().filter(({ manifest }) => manifest.kind !== "fork").map(({ manifest }) => {
      const resident = this.#parts.holders.isResident(manifest.id);
      return { snapshotId: manifest.id, templateId: manifest.templateId, resident, warm: resident ? this.slots.prepared : 0, frozen: resident ? 0 : 1, privateBytes: manifest.privateBytes };
    });
  }

  /** Ends everything that lives here; snapshots on disk stay. */
  async stop(): Promise<void> {
    await Promise.all(this.registry.all().map((sandbox) => this.#parts.ender.end(sandbox)));
    await this.#parts.holders.close();
    await this.slots.close();
  }
}
