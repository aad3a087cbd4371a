// SPDX-License-Identifier: Apache-2.0
/**
 * Snapshots of this node and who still needs each: a live sandbox needs every layer it is mounted on,
 * a snapshot needs the layers below it. What nobody needs any more is removed.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import type { AgentPaths } from "../paths.ts";
import { type Manifest, manifestSchema } from "./manifest.ts";

export interface Snapshot {
  readonly manifest: Manifest;
  readonly folder: string;
  /** Process images; a fork's lie on tmpfs. */
  readonly images: string;
}

interface Entry {
  readonly snapshot: Snapshot;
  /** Number of sandboxes and snapshots on top of this layer, plus one while the platform wants it by name. */
  needs: number;
}

export class SnapshotStore {
  readonly #paths: AgentPaths;
  readonly #entries = new Map<string, Entry>();
  readonly #removed: (id: string) => Promise<void>;

  /** `removed` is called when a snapshot is no longer needed, before its folder goes. */
  constructor(paths: AgentPaths, removed: (id: string) => Promise<void>) {
    this.#paths = paths;
    this.#removed = removed;
  }

  /** Finds the snapshots that outlived the last agent; removes debris and what only its sandboxes needed. */
  async load(): Promise<void> {
    const names = await readdir(this.#paths.snapshots);
    const read = await Promise.all(names.map((name) => readManifest(join(this.#paths.snapshots, name))));
    const found = new Map(read.flatMap((manifest) => (manifest ? [[manifest.id, manifest]] : [])));
    const lasting = [...found.values()].filter((manifest) => manifest.kind !== "fork");
    const wanted = new Set(lasting.flatMap((manifest) => manifest.layers));
    for (const name of names) {
      if (!wanted.has(name)) await rm(join(this.#paths.snapshots, name), { recursive: true, force: true });
    }
    for (const name of await readdir(this.#paths.memory)) await rm(join(this.#paths.memory, name), { recursive: true, force: true });
    const kept = [...found.values()].filter((manifest) => wanted.has(manifest.id));
    // Of a fork only the layer is left, and only for those on top of it: nobody wants it by its name.
    for (const manifest of kept) this.#enter(manifest, manifest.kind === "fork" ? 0 : 1);
    for (const manifest of kept) this.#needLayers(manifest);
  }

  /** Folders for a snapshot that is about to be taken. */
  async begin(id: string, kind: Manifest["kind"]): Promise<{ folder: string; images: string; upper: string }> {
    const folder = join(this.#paths.snapshots, id);
    const images = kind === "fork" ? join(this.#paths.memory, id) : join(folder, "images");
    const upper = join(folder, "upper");
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await mkdir(images, { recursive: true, mode: 0o700 });
    return { folder, images, upper };
  }

  /** Makes it a snapshot: from now on it is found. The caller holds one need and must `release` it. */
  async commit(manifest: Manifest): Promise<Snapshot> {
    const folder = join(this.#paths.snapshots, manifest.id);
    await writeFile(join(folder, "manifest.new"), JSON.stringify(manifest, null, 2));
    await rename(join(folder, "manifest.new"), join(folder, "manifest.json"));
    const snapshot = this.#enter(manifest);
    this.#needLayers(manifest);
    return snapshot;
  }

  /** Undoes `begin` after a failure. */
  async abandon(id: string): Promise<void> {
    await rm(join(this.#paths.snapshots, id), { recursive: true, force: true });
    await rm(join(this.#paths.memory, id), { recursive: true, force: true });
  }

  get(id: string): Snapshot {
    const entry = this.#entries.get(id);
    if (!entry) throw new CollimateError("not_found", `this node has no snapshot ${id}`);
    return entry.snapshot;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  list(): Snapshot[] {
    return [...this.#entries.values()].map((entry) => entry.snapshot);
  }

  /** Folders of its writable layers, top to bottom. */
  layerFolders(manifest: Manifest): string[] {
    return manifest.layers.map((id) => join(this.#paths.snapshots, id, "upper"));
  }

  retain(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) throw new CollimateError("not_found", `this node has no snapshot ${id}`);
    entry.needs += 1;
  }

  async release(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.needs -= 1;
    if (entry.needs > 0) return;
    this.#entries.delete(id);
    await this.#removed(id);
    await this.abandon(id);
    for (const layer of entry.snapshot.manifest.layers.slice(1)) await this.release(layer);
  }

  #enter(manifest: Manifest, needs = 1): Snapshot {
    const folder = join(this.#paths.snapshots, manifest.id);
    const snapshot: Snapshot = {
      manifest,
      folder,
      images: manifest.kind === "fork" ? join(this.#paths.memory, manifest.id) : join(folder, "images"),
    };
    this.#entries.set(manifest.id, { snapshot, needs });
    return snapshot;
  }

  #needLayers(manifest: Manifest): void {
    for (const layer of manifest.layers.slice(1)) {
      const below = this.#entries.get(layer);
      if (below) below.needs += 1;
    }
  }
}

/** Undefined for a folder without a manifest that can be read: a snapshot that never was finished. */
async function readManifest(folder: string): Promise<Manifest | undefined> {
  const text = await readFile(join(folder, "manifest.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
