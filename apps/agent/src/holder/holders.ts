// SPDX-License-Identifier: Apache-2.0
/** One holder per snapshot in use: a template's as long as the template is here, a fork's as long as children of it live. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CriuProgram, type Holder, startHolder } from "@collimate/criu";
import type { Cgroup } from "@collimate/host";
import type { Logger } from "@collimate/telemetry";
import type { Snapshot } from "../snapshot/store.ts";
import { TREE } from "../snapshot/take.ts";

/** A holder is the last that the kernel should end for memory: every child of it shares its pages. */
const HOLDER_OOM_SCORE = -900;
const LOAD_LIMIT_MS = 120_000;

export class Holders {
  readonly #criu: CriuProgram;
  readonly #run: string;
  readonly #group: Cgroup;
  readonly #log: Logger;
  readonly #holders = new Map<string, Promise<Holder>>();

  /** `group`: where holders live, so that whoever comes after a crash finds them by name. */
  constructor(criu: CriuProgram, run: string, group: Cgroup, log: Logger) {
    this.#criu = criu;
    this.#run = run;
    this.#group = group;
    this.#log = log;
  }

  /** The holder of a snapshot, started if it is not there; who asks at once shares the start. */
  ensure(snapshot: Snapshot): Promise<Holder> {
    const id = snapshot.manifest.id;
    return this.#holders.get(id) ?? this.#keep(id, this.#load(snapshot));
  }

  /** A holder for a delta snapshot: a fork of the one that the delta was taken against. */
  derive(base: Holder, snapshot: Snapshot): Promise<Holder> {
    const id = snapshot.manifest.id;
    return this.#keep(id, base.derive({ images: snapshot.images, socket: this.#socket(id), work: this.#work(id), limitMs: LOAD_LIMIT_MS }));
  }

  /** The holder if it is resident. */
  async resident(snapshotId: string): Promise<Holder | undefined> {
    return this.#holders.get(snapshotId)?.catch(() => undefined);
  }

  isResident(snapshotId: string): boolean {
    return this.#holders.has(snapshotId);
  }

  async retire(snapshotId: string): Promise<void> {
    const holder = this.#holders.get(snapshotId);
    if (!holder) return;
    this.#holders.delete(snapshotId);
    await holder.then((h) => h.stop()).catch((err: unknown) => this.#log.warn({ err, snapshotId }, "holder had failed"));
    await rm(this.#work(snapshotId), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#holders.keys()].map((id) => this.retire(id)));
    await this.#group.killAll();
    await this.#group.remove();
  }

  async #load(snapshot: Snapshot): Promise<Holder> {
    const id = snapshot.manifest.id;
    const holder = await startHolder({
      program: this.#criu,
      tree: TREE,
      images: snapshot.images,
      socket: this.#socket(id),
      work: this.#work(id),
      limitMs: LOAD_LIMIT_MS,
    });
    for (const file of this.#group.procsFiles()) await writeFile(file, String(holder.pid));
    // Needs CAP_SYS_RESOURCE, which a container may lack; sandboxes have a raised score in any case.
    await writeFile(`/proc/${holder.pid}/oom_score_adj`, String(HOLDER_OOM_SCORE)).catch((err: unknown) =>
      this.#log.debug({ err }, "holder not protected"),
    );
    return holder;
  }

  #keep(id: string, starting: Promise<Holder>): Promise<Holder> {
    this.#holders.set(id, starting);
    starting.catch(() => {
      if (this.#holders.get(id) === starting) this.#holders.delete(id);
    });
    return starting;
  }

  // Socket paths are bounded by 107 bytes: the state folder must leave room for an id.
  #socket(id: string): string {
    return join(this.#run, `${id}.sock`);
  }
  #work(id: string): string {
    return join(this.#run, id);
  }
}
