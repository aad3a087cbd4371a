// SPDX-License-Identifier: Apache-2.0
/** Keeps what lasts on this node's disk under a limit: what can be fetched again goes first, the longest unused before the others. */
import { CollimateError } from "@collimate/contracts";
import { readSeal } from "@collimate/snapshot";
import type { Snapshot, SnapshotStore } from "./store.ts";

export class Budget {
  readonly #snapshots: SnapshotStore;
  /** Infinity: no limit but the disk's. */
  readonly #bytes: number;
  readonly #canBeFetched: (id: string) => boolean;

  constructor(snapshots: SnapshotStore, bytes: number, canBeFetched: (id: string) => boolean) {
    this.#snapshots = snapshots;
    this.#bytes = bytes;
    this.#canBeFetched = canBeFetched;
  }

  /** For something new of so many bytes (0: not known yet). */
  async makeRoom(bytes: number): Promise<void> {
    const missing = await this.#evict(bytes);
    if (missing > 0)
      throw new CollimateError(
        "no_space",
        `this node keeps at most ${mib(this.#bytes)} MiB of snapshots; ${mib(missing)} MiB more would be needed, and nothing else can be fetched again`,
      );
  }

  /** Something has come that cannot be refused any more. */
  async settle(): Promise<void> {
    await this.#evict(0);
  }

  /** Bytes that are still too many. */
  async #evict(bytes: number): Promise<number> {
    if (this.#bytes === Infinity) return 0;
    const lasting = this.#snapshots.list().filter(({ manifest }) => manifest.kind !== "fork");
    const sizes = await Promise.all(lasting.map(sizeOnDisk));
    let over = sizes.reduce((sum, size) => sum + size, bytes) - this.#bytes;
    for (const snapshot of this.#snapshots.idle()) {
      if (over <= 0) break;
      if (!this.#canBeFetched(snapshot.manifest.id)) continue;
      over -= await sizeOnDisk(snapshot);
      await this.#snapshots.release(snapshot.manifest.id);
    }
    return Math.max(0, over);
  }
}

async function sizeOnDisk({ folder, manifest }: Snapshot): Promise<number> {
  // One that is damaged takes room like any other.
  const sealed = await readSeal(folder).catch(() => undefined);
  return sealed ? sealed.images.reduce((sum, { size }) => sum + size, sealed.layer.size) : manifest.privateBytes;
}

const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20);
