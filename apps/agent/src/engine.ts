// SPDX-License-Identifier: Apache-2.0
/** The node's verbs, each in its own file; this one only ties them to the parts they share. */
import { CollimateError, type Heartbeat, type NodeJobOf, type NodeResult } from "@collimate/contracts";
import type { Manifest } from "@collimate/snapshot";
import { setTimeout as delay } from "node:timers/promises";
import type { Baker } from "./bake/bake.ts";
import type { Holders } from "./holder/holders.ts";
import type { Creator } from "./sandbox/create.ts";
import type { Ender } from "./sandbox/end.ts";
import type { Forker } from "./sandbox/fork.ts";
import type { SandboxRegistry } from "./sandbox/registry.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import type { Suspender } from "./sandbox/suspend.ts";
import type { Slots } from "./slot/slots.ts";
import type { Artifacts } from "./snapshot/artifacts.ts";
import { asNoSpace } from "./snapshot/no-space.ts";
import type { SnapshotStore } from "./snapshot/store.ts";

export interface EngineParts {
  readonly registry: SandboxRegistry;
  readonly slots: Slots;
  readonly snapshots: SnapshotStore;
  readonly artifacts: Artifacts;
  readonly holders: Holders;
  readonly baker: Baker;
  readonly creator: Creator;
  readonly forker: Forker;
  readonly suspender: Suspender;
  readonly ender: Ender;
}

type NodeResultOf<K extends NodeResult["kind"]> = Extract<NodeResult, { kind: K }>;

/** For what is being made when the agent stops. A restore is over by then; the programs of a pull die with the agent. */
const MAKING_LIMIT_MS = 5_000;

export class Engine {
  readonly #parts: EngineParts;
  readonly #making = new Set<Promise<unknown>>();
  #stopping = false;

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
    return this.#make(() => this.#parts.baker.bake(job, phase));
  }
  create(job: NodeJobOf<"create">): Promise<NodeResultOf<"create">> {
    return this.#make(() => this.#parts.creator.create(job));
  }
  fork(job: NodeJobOf<"fork">): Promise<NodeResult> {
    return this.#make(() => this.#parts.forker.fork(job));
  }
  suspend(job: NodeJobOf<"suspend">): Promise<NodeResult> {
    return this.#parts.suspender.suspend(job).catch((error: unknown) => {
      throw asNoSpace(error);
    });
  }
  resume(job: NodeJobOf<"resume">): Promise<NodeResult> {
    return this.#make(() => this.#parts.creator.resume(job));
  }

  /** Ends a sandbox; gives the moment (ms since 1970) at which its processes were gone. */
  end(sandbox: Sandbox): Promise<number> {
    return this.#parts.ender.end(sandbox);
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
    await this.#parts.artifacts.forget(job.snapshotIds);
    return { kind: "drop_template", templateId: job.templateId };
  }

  /** Makes a snapshot's next restore a quick one: its memory is loaded now. */
  async loadHolder(snapshotId: string): Promise<void> {
    await this.#parts.holders.ensure(await this.#parts.artifacts.ready(snapshotId));
  }

  /** Snapshots that can be restored here: warm = prepared slots beside a resident holder, frozen = on disk only. */
  templatesHere(): Heartbeat["snapshots"] {
    return this.#parts.snapshots
      .list()
      .filter(({ manifest }) => manifest.kind !== "fork")
      .map(({ manifest }) => {
        const resident = this.#parts.holders.isResident(manifest.id);
        return {
          snapshotId: manifest.id,
          templateId: manifest.templateId,
          resident,
          warm: resident ? this.slots.prepared : 0,
          frozen: resident ? 0 : 1,
          privateBytes: manifest.privateBytes,
          pushed: this.#parts.artifacts.isPushed(manifest.id),
        };
      });
  }

  /** The newest snapshot of a template, by the template's id or the snapshot's own. */
  findTemplate(reference: string): Manifest | undefined {
    return this.#templates().find((manifest) => manifest.id === reference || manifest.templateId === reference);
  }

  templateIds(): string[] {
    return [...new Set(this.#templates().map((manifest) => manifest.templateId))];
  }

  /** Newest first. */
  #templates(): Manifest[] {
    const manifests = this.#parts.snapshots.list().map(({ manifest }) => manifest);
    return manifests.filter((manifest) => manifest.kind === "template").toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  }

  /** Ends everything that lives here, also what is just being made; snapshots on disk stay. */
  async stop(): Promise<void> {
    this.#stopping = true;
    // What a bake or an exec waits for ends with its sandbox.
    await this.#endAll();
    await Promise.race([Promise.allSettled(this.#making), delay(MAKING_LIMIT_MS, undefined, { ref: false })]);
    await this.#endAll();
    await this.#parts.artifacts.close();
    await this.#parts.holders.close();
    await this.slots.close();
  }

  async #endAll(): Promise<void> {
    await Promise.all(this.registry.all().map((sandbox) => this.#parts.ender.end(sandbox)));
  }

  async #make<T>(work: () => Promise<T>): Promise<T> {
    if (this.#stopping) throw new CollimateError("draining", "the agent is stopping; nothing was made");
    const making = work();
    this.#making.add(making);
    try {
      return await making;
    } catch (error) {
      throw asNoSpace(error);
    } finally {
      this.#making.delete(making);
    }
  }
}
