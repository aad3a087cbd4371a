// SPDX-License-Identifier: Apache-2.0
/**
 * What makes snapshots last: they are sealed when they are meant to stay, verified once before an agent restores from
 * them, pushed when the node is quiet, pulled when a job names one that is not here. A fork passes none of this.
 */
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CollimateError } from "@collimate/contracts";
import {
  find,
  type Found,
  insistOnCompatible,
  LocalChunks,
  type NodeFacts,
  pull,
  push,
  readSeal,
  type Repository,
  seal,
  verify,
} from "@collimate/snapshot";
import type { Logger } from "@collimate/telemetry";
import type { Holders } from "../holder/holders.ts";
import type { RootfsStore } from "../image/rootfs-store.ts";
import type { Budget } from "./budget.ts";
import type { Snapshot, SnapshotStore } from "./store.ts";

/** Beside the manifest: where it was pushed to. */
const PUSHED_FILE = "pushed";
const SEAL_AFTER_MS = 1_000;

export interface ArtifactParts {
  readonly snapshots: SnapshotStore;
  readonly holders: Holders;
  readonly rootfs: RootfsStore;
  readonly budget: Budget;
  readonly host: NodeFacts;
  /** Where templates are pushed to and pulled from; without one each node has only its own. */
  readonly registry: { readonly address: string; readonly repository: Repository } | undefined;
  /** A push waits until nothing was restored or taken for so long. */
  readonly quietMs: number;
  readonly log: Logger;
}

export class Artifacts {
  readonly #parts: ArtifactParts;
  /** Snapshots that this agent has verified or made, with what their images looked like then. */
  readonly #verified = new Map<string, string>();
  readonly #checking = new Map<string, Promise<Snapshot>>();
  readonly #pushed = new Set<string>();
  readonly #sealing = new Map<string, Promise<void>>();
  readonly #background = new Set<Promise<void>>();
  readonly #toPush = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();

  constructor(parts: ArtifactParts) {
    this.#parts = parts;
  }

  /** After a start: what was pushed, and what is still to be. */
  async load(): Promise<void> {
    for (const { manifest, folder } of this.#parts.snapshots.list()) {
      if (manifest.kind === "template") {
        const to = await readFile(join(folder, PUSHED_FILE), "utf8").catch(() => undefined);
        if (to !== undefined && to === this.#parts.registry?.address) this.#pushed.add(manifest.id);
        else this.#pushLater(manifest.id);
      }
      // One that was not sealed in time; of damage a restore tells.
      const isSealed = await readSeal(folder).catch(() => true);
      if (manifest.kind === "suspend" && !isSealed) this.sealInBackground(manifest.id);
    }
  }

  /** In the registry: the node may let it go, and any other may have it. */
  isPushed(id: string): boolean {
    return this.#pushed.has(id);
  }

  /** A template that was made just now: sealed before anybody is told of it, pushed when the node is quiet. */
  async keep(snapshot: Snapshot): Promise<void> {
    await this.#seal(snapshot);
    await this.#parts.budget.settle();
    this.#pushLater(snapshot.manifest.id);
  }

  /** A suspended sandbox has answered by now. Its layers below are sealed too: it depends on them. */
  sealInBackground(id: string): void {
    const { snapshots, log } = this.#parts;
    const work = (async () => {
      // Many are resumed at once: those need no seal.
      await delay(SEAL_AFTER_MS, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      if (!snapshots.has(id)) return;
      for (const layer of snapshots.get(id).manifest.layers) if (snapshots.has(layer)) await this.#sealIfOpen(snapshots.get(layer));
    })()
      .catch((err: unknown) => {
        // Given up meanwhile: nothing is left to seal.
        if (snapshots.has(id)) log.warn({ err, snapshotId: id }, "a snapshot could not be sealed");
      })
      .finally(() => this.#sealing.delete(id));
    this.#sealing.set(id, work);
    this.#follow(work);
  }

  /** A snapshot that may be restored here: it is whole, it fits this host, and it has been fetched if it was elsewhere. */
  ready(id: string): Promise<Snapshot> {
    const running = this.#checking.get(id);
    if (running) return running;
    const { snapshots, holders } = this.#parts;
    // Its memory was read, and verified before.
    if (snapshots.has(id) && holders.isResident(id)) return Promise.resolve(snapshots.get(id));
    const work = (snapshots.has(id) ? this.#check(snapshots.get(id)) : this.#pull(id)).finally(() => this.#checking.delete(id));
    this.#checking.set(id, work);
    return work;
  }

  /** The registry need not have them any longer. */
  async forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.#toPush.delete(id);
      this.#verified.delete(id);
      if (this.#pushed.delete(id)) await this.#parts.registry?.repository.deleteManifest(id);
    }
  }

  /** Lets what runs in the background come to its end. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#background);
  }

  async #seal(snapshot: Snapshot): Promise<void> {
    await seal(snapshot.folder);
    this.#verified.set(snapshot.manifest.id, await looksOf(snapshot));
  }

  async #sealIfOpen(snapshot: Snapshot): Promise<void> {
    if (!(await readSeal(snapshot.folder))) await this.#seal(snapshot);
  }

  async #check(snapshot: Snapshot): Promise<Snapshot> {
    const { manifest } = snapshot;
    try {
      insistOnCompatible(manifest, this.#parts.host);
      // Written by this agent a moment ago.
      if (this.#sealing.has(manifest.id)) return snapshot;
      const looks = await looksOf(snapshot);
      if (this.#verified.get(manifest.id) !== looks) {
        for (const layer of manifest.layers) await verify(this.#parts.snapshots.folder(layer));
        this.#verified.set(manifest.id, looks);
      }
      return snapshot;
    } catch (error) {
      // Of a suspended sandbox this is all that there is; a template can be had anew.
      if (manifest.kind !== "template" || !isUseless(error)) throw error;
      this.#parts.log.warn({ err: error, snapshotId: manifest.id }, "a template's snapshot is of no use here and was removed");
      await this.#parts.snapshots.release(manifest.id);
      if (error.code === "snapshot_damaged" && this.#pushed.has(manifest.id)) return this.#pull(manifest.id);
      throw error;
    }
  }

  async #pull(id: string): Promise<Snapshot> {
    const { registry, snapshots, rootfs, budget, host, log } = this.#parts;
    if (!registry) throw new CollimateError("snapshot_missing", `this node has no snapshot ${id}, and no registry to fetch it from`);
    const begun = performance.now();
    const found = await find(id, registry.repository);
    if (!found) throw new CollimateError("snapshot_missing", `neither this node nor the registry has snapshot ${id}`);
    if (found.manifest.layers.length > 1) throw new CollimateError("snapshot_missing", `snapshot ${id} is not one of a template`);
    insistOnCompatible(found.manifest, host);
    await budget.makeRoom(sizeOf(found));
    await rootfs.ensure(found.manifest.image);
    try {
      const { folder } = await snapshots.begin(id, found.manifest.kind);
      const { fetched, fetchedBytes, local } = await pull(found, folder, registry.repository, await this.#localChunks());
      await verify(folder);
      await writeFile(join(folder, PUSHED_FILE), registry.address);
      const snapshot = snapshots.adopt(found.manifest);
      this.#verified.set(id, await looksOf(snapshot));
      this.#pushed.add(id);
      log.info({ snapshotId: id, fetched, fetchedBytes, local, ms: Math.round(performance.now() - begun) }, "a snapshot was pulled");
      return snapshot;
    } catch (error) {
      await snapshots.abandon(id);
      throw error;
    }
  }

  #localChunks(): Promise<LocalChunks> {
    const lasting = this.#parts.snapshots.list().filter(({ manifest }) => manifest.kind !== "fork");
    return LocalChunks.of(lasting.map(({ folder }) => folder));
  }

  #pushLater(id: string): void {
    if (!this.#parts.registry || this.#closing.signal.aborted) return;
    this.#toPush.add(id);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer || this.#closing.signal.aborted || this.#toPush.size === 0) return;
    const wait = Math.max(0, this.#parts.snapshots.usedAt() + this.#parts.quietMs - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#parts.snapshots.usedAt() + this.#parts.quietMs > Date.now()) this.#schedule();
      else this.#follow(this.#pushNext());
    }, wait).unref();
  }

  async #pushNext(): Promise<void> {
    const { registry, snapshots, log } = this.#parts;
    const [id] = this.#toPush;
    if (id === undefined || !registry) return;
    this.#toPush.delete(id);
    try {
      if (!snapshots.has(id)) return;
      const { folder, manifest } = snapshots.get(id);
      await this.#sealIfOpen(snapshots.get(id));
      const { digest, chunks, sent, sentBytes } = await push(folder, manifest, registry.repository);
      if (!snapshots.has(id)) {
        await registry.repository.deleteManifest(id);
        return;
      }
      await writeFile(join(folder, PUSHED_FILE), registry.address);
      this.#pushed.add(id);
      log.info({ snapshotId: id, digest, chunks, sent, sentBytes }, "a snapshot was pushed");
    } catch (err) {
      // The next start of the agent tries again; until then this node has the only copy.
      log.warn({ err, snapshotId: id }, "a snapshot was not pushed");
    } finally {
      this.#schedule();
    }
  }

  #follow(work: Promise<void>): void {
    this.#background.add(work);
    void work.finally(() => this.#background.delete(work));
  }
}

function isUseless(error: unknown): error is CollimateError {
  return error instanceof CollimateError && (error.code === "snapshot_damaged" || error.code === "snapshot_incompatible");
}

function sizeOf({ seal: { images, layer } }: Found): number {
  return images.reduce((sum, { size }) => sum + size, layer.size);
}

/** Changes whenever somebody writes to a sealed image, so that it is read again only then. */
async function looksOf({ folder, images }: Snapshot): Promise<string> {
  const sealed = await readSeal(folder);
  const looks = await Promise.all(
    (sealed?.images ?? []).map(async ({ name }) => {
      const found = await stat(join(images, name), { bigint: true }).catch(() => undefined);
      return found ? `${found.ino}:${found.size}:${found.ctimeNs}` : "gone";
    }),
  );
  return looks.join(" ");
}
