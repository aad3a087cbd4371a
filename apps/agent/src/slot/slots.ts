// SPDX-License-Identifier: Apache-2.0
/** Keeps slots prepared ahead of need; a burst beyond them waits for nothing but the preparation itself. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import type { CgroupLimits, Cgroups, HostClient } from "@collimate/host";
import pLimit from "p-limit";
import type { Logger } from "@collimate/telemetry";
import { sameLimits } from "./limits.ts";
import { IDS_PER_SLOT, type Slot, uidBase } from "./slot.ts";

export interface SlotOptions {
  readonly folder: string;
  readonly ready: number;
  readonly max: number;
}

export class Slots {
  readonly #host: HostClient;
  readonly #cgroups: Cgroups;
  readonly #options: SlotOptions;
  readonly #log: Logger;
  readonly #ready: Slot[] = [];
  readonly #freeIndexes: number[] = [];
  #nextIndex = 0;
  #used = 0;
  #closed = false;
  /** Those last asked for: whoever comes next most likely wants the same, and then finds them set. */
  #usualLimits: CgroupLimits = {};
  readonly #preparing = pLimit(2);
  #filling: Promise<void> = Promise.resolve();

  constructor(host: HostClient, cgroups: Cgroups, options: SlotOptions, log: Logger) {
    this.#host = host;
    this.#cgroups = cgroups;
    this.#options = options;
    this.#log = log;
  }

  get used(): number {
    return this.#used;
  }
  get prepared(): number {
    return this.#ready.length;
  }
  get free(): number {
    return this.#options.max - this.#used;
  }

  /** Brings the prepared number up to what was asked for. */
  fill(): Promise<void> {
    const filling = this.#filling.then(() => this.#fill());
    this.#filling = filling.catch(() => {});
    return filling;
  }

  async #fill(): Promise<void> {
    const missing = Math.min(this.#options.ready, this.#options.max - this.#used) - this.#ready.length;
    if (missing <= 0 || this.#closed) return;
    await Promise.all(
      Array.from({ length: missing }, () =>
        this.#preparing(async () => {
          if (this.#closed) return;
          this.#ready.push(await this.#prepare());
        }),
      ),
    );
  }

  /** `count` slots with these limits, all or none. */
  async take(count: number, limits: CgroupLimits): Promise<Slot[]> {
    if (this.#closed) throw new CollimateError("draining", "the agent is stopping");
    if (count > this.free) throw new CollimateError("at_capacity", `this node has ${this.free} free slots, ${count} are asked for`);
    this.#used += count;
    this.#usualLimits = limits;
    const slots = this.#ready.splice(0, count);
    try {
      await Promise.all(slots.map((slot) => limit(slot, limits)));
      while (slots.length < count) slots.push(await this.#prepare());
      return slots;
    } catch (error) {
      this.#used -= count;
      this.#ready.push(...slots);
      throw error;
    }
  }

  /** Takes a slot back. Its sandbox must be gone; the cgroups are made anew, since their counters belong to the dead. */
  async give(slot: Slot): Promise<void> {
    try {
      await this.#dismantle(slot);
      this.#freeIndexes.push(slot.index);
    } catch (error) {
      // A slot that cannot be cleaned is not used again: `doctor --leaks` shows what holds it.
      this.#log.error({ err: error, slot: slot.index }, "slot lost");
    } finally {
      this.#used -= 1;
    }
    void this.fill().catch((error: unknown) => this.#log.error({ err: error }, "slots could not be refilled"));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#filling;
    await Promise.all(this.#ready.splice(0).map((slot) => this.#dismantle(slot)));
  }

  async #prepare(): Promise<Slot> {
    const index = this.#freeIndexes.shift() ?? this.#nextIndex++;
    const limits = this.#usualLimits;
    const folder = this.#folder(index);
    const [root, fresh] = [join(folder, "root"), join(folder, "fresh")];
    await mkdir(root, { recursive: true });
    await mkdir(join(fresh, "upper"), { recursive: true, mode: 0o755 });
    await mkdir(join(fresh, "work"));
    await this.#host.createUserns(index, uidBase(index), IDS_PER_SLOT);
    const group = await this.#cgroups.create(`slot-${index}`, limits);
    return { index, uidBase: uidBase(index), root, fresh, group, limits };
  }

  async #dismantle(slot: Slot): Promise<void> {
    await slot.group.remove();
    await this.#host.dropUserns(slot.index);
    await rm(this.#folder(slot.index), { recursive: true, force: true });
  }

  #folder(index: number): string {
    return join(this.#options.folder, String(index));
  }
}

/** A prepared slot's limits are those of the last that was asked for. */
async function limit(slot: Slot, limits: CgroupLimits): Promise<void> {
  if (sameLimits(slot.limits, limits)) return;
  await slot.group.limit(limits);
  slot.limits = limits;
}
