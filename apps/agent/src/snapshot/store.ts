// SPDX-License-Identifier: Apache-2.0
/**
 * Snapshots of this node and who still needs each. Whoever restores from one uses it whole; a snapshot on top of it needs
 * its writable layer only. What nobody uses any more loses its images and its holder; what nobody needs is removed.
 */
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import { IMAGES, LAYER, type Manifest, MANIFEST_FILE, readManifest, sealLayerAlone } from "@collimate/snapshot";
import type { AgentPaths } from "../paths.ts";

export interface Snapshot {
  readonly manifest: Manifest;
  readonly folder: string;
  /** Process images; a fork's lie on tmpfs. */
  readonly images: string;
}

interface Entry {
  readonly snapshot: Snapshot;
  /** Sandboxes that came from it and snapshots that are a difference from it, plus one while the platform wants it by name. */
  uses: number;
  /** Snapshots on top of its layer. */
  above: number;
  usedAt: number;
  /** What is being taken away from its folder; the folder itself goes afterwards. */
  trimming?: Promise<void>;
}

export class SnapshotStore {
  readonly #paths: AgentPaths;
  readonly #entries = new Map<string, Entry>();
  readonly #retire: (id: string) => Promise<void>;

  /** `retire` is called when a snapshot will not be restored any more, before its images go. */
  constructor(paths: AgentPaths, retire: (id: string) => Promise<void>) {
    this.#paths = paths;
    this.#retire = retire;
  }

  /** Finds the snapshots that outlived the last agent; removes debris and what only its sandboxes needed. */
  async load(): Promise<void> {
    const names = await readdir(this.#paths.snapshots);
    const read = await Promise.all(names.map((name) => readManifest(this.folder(name))));
    const found = new Map(read.flatMap((manifest) => (manifest ? [[manifest.id, manifest]] : [])));
    const lasting = [...found.values()].filter((manifest) => manifest.kind !== "fork");
    const wanted = new Set(lasting.flatMap((manifest) => manifest.layers));
    for (const name of names) {
      if (!wanted.has(name)) await rm(this.folder(name), { recursive: true, force: true });
    }
    for (const name of await readdir(this.#paths.memory)) await rm(join(this.#paths.memory, name), { recursive: true, force: true });
    const kept = [...found.values()].filter((manifest) => wanted.has(manifest.id));
    // Of a fork only the layer is left, and only for those on top of it: nobody wants it by its name.
    for (const manifest of kept) this.#enter(manifest, manifest.kind === "fork" ? 0 : 1);
    for (const manifest of kept) this.#needLayers(manifest);
  }

  folder(id: string): string {
    return join(this.#paths.snapshots, id);
  }

  /** Folders for a snapshot that is about to be taken. */
  async begin(id: string, kind: Manifest["kind"]): Promise<{ folder: string; images: string; upper: string }> {
    const folder = this.folder(id);
    const images = this.#imagesOf(id, kind);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await mkdir(images, { recursive: true, mode: 0o700 });
    return { folder, images, upper: join(folder, LAYER) };
  }

  /** Makes it a snapshot: from now on it is found. The caller holds one use and must `release` it. */
  async commit(manifest: Manifest): Promise<Snapshot> {
    await writeManifest(this.folder(manifest.id), manifest);
    return this.adopt(manifest);
  }

  /** The same for one whose manifest is in its folder already. */
  adopt(manifest: Manifest): Snapshot {
    const snapshot = this.#enter(manifest, 1);
    this.#needLayers(manifest);
    if (manifest.base !== null) this.retain(manifest.base);
    return snapshot;
  }

  /** Undoes `begin` after a failure. */
  async abandon(id: string): Promise<void> {
    await rm(this.folder(id), { recursive: true, force: true });
    await rm(join(this.#paths.memory, id), { recursive: true, force: true });
  }

  get(id: string): Snapshot {
    return this.#entry(id).snapshot;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  list(): Snapshot[] {
    return [...this.#entries.values()].map((entry) => entry.snapshot);
  }

  /** Wanted by name alone, the one that was used longest ago first. */
  idle(): Snapshot[] {
    const entries = [...this.#entries.values()].filter((entry) => entry.uses === 1 && entry.above === 0);
    return entries.toSorted((a, b) => a.usedAt - b.usedAt).map((entry) => entry.snapshot);
  }

  /** When anything here was last restored or taken (ms since 1970). */
  usedAt(): number {
    return Math.max(0, ...[...this.#entries.values()].map((entry) => entry.usedAt));
  }

  retain(id: string): void {
    const entry = this.#entry(id);
    entry.uses += 1;
    entry.usedAt = Date.now();
  }

  async release(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry || entry.uses === 0) return;
    entry.uses -= 1;
    if (entry.uses > 0) return;
    const { manifest } = entry.snapshot;
    if (entry.above === 0) {
      this.#entries.delete(id);
      await this.#retire(id);
      await this.#remove(entry);
    } else {
      entry.trimming = this.#trim(entry.snapshot);
      await entry.trimming;
    }
    if (manifest.base !== null) await this.release(manifest.base);
  }

  /** Nobody is restored from it any more: only its layer stays, for those on top of it. */
  async #trim({ manifest, folder, images }: Snapshot): Promise<void> {
    await this.#retire(manifest.id);
    await rm(images, { recursive: true, force: true });
    // An agent that starts later must not take it for one that is wanted by name.
    if (manifest.kind !== "fork") await writeManifest(folder, { ...manifest, kind: "fork" });
    await sealLayerAlone(folder);
  }

  /** What lies on top of it may go while it is being trimmed itself. */
  async #remove({ snapshot: { manifest }, trimming }: Entry): Promise<void> {
    await trimming?.catch(() => undefined);
    await this.abandon(manifest.id);
    for (const id of manifest.layers.slice(1)) {
      const below = this.#entries.get(id);
      if (!below) continue;
      below.above -= 1;
      if (below.above > 0 || below.uses > 0) continue;
      this.#entries.delete(id);
      await this.#remove(below);
    }
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (!entry) throw new CollimateError("not_found", `this node has no snapshot ${id}`);
    return entry;
  }

  #enter(manifest: Manifest, uses: number): Snapshot {
    const snapshot: Snapshot = { manifest, folder: this.folder(manifest.id), images: this.#imagesOf(manifest.id, manifest.kind) };
    this.#entries.set(manifest.id, { snapshot, uses, above: 0, usedAt: Date.now() });
    return snapshot;
  }

  #imagesOf(id: string, kind: Manifest["kind"]): string {
    return kind === "fork" ? join(this.#paths.memory, id) : join(this.folder(id), IMAGES);
  }

  #needLayers(manifest: Manifest): void {
    for (const layer of manifest.layers.slice(1)) {
      const below = this.#entries.get(layer);
      if (below) below.above += 1;
    }
  }
}

async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const fresh = join(folder, `${MANIFEST_FILE}.new`);
  await writeFile(fresh, JSON.stringify(manifest, null, 2));
  await rename(fresh, join(folder, MANIFEST_FILE));
}
