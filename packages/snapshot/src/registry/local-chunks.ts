// SPDX-License-Identifier: Apache-2.0
/** Chunks of process images that sealed snapshots of this node hold, found by their digest. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { CHUNK_BYTES, digestOf } from "../chunks.ts";
import { IMAGES, readSeal } from "../seal.ts";

interface Place {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

export class LocalChunks {
  readonly #places = new Map<string, Place>();

  static async of(folders: readonly string[]): Promise<LocalChunks> {
    const chunks = new LocalChunks();
    for (const folder of folders) await chunks.#enter(folder);
    return chunks;
  }

  /** Undefined when it is not here, or not what it was. */
  async read(digest: string): Promise<Buffer | undefined> {
    const place = this.#places.get(digest);
    if (!place) return undefined;
    try {
      await using file = await open(place.path, "r");
      const bytes = Buffer.alloc(place.length);
      const { bytesRead } = await file.read(bytes, 0, place.length, place.offset);
      return bytesRead === place.length && (await digestOf(bytes)) === digest ? bytes : undefined;
    } catch {
      // It may have been removed just now: the registry has it.
      return undefined;
    }
  }

  async #enter(folder: string): Promise<void> {
    const sealed = await readSeal(folder).catch(() => undefined);
    for (const { name, size, chunks } of sealed?.images ?? []) {
      for (const [at, digest] of chunks.entries()) {
        const offset = at * CHUNK_BYTES;
        if (digest !== null)
          this.#places.set(digest, { path: join(folder, IMAGES, name), offset, length: Math.min(CHUNK_BYTES, size - offset) });
      }
    }
  }
}
