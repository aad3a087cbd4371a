// SPDX-License-Identifier: Apache-2.0
/** Fetches a snapshot from a registry into a folder. Chunks that other snapshots of the node hold do not travel. */
import { chmod, mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { CollimateError } from "@collimate/contracts";
import pLimit from "p-limit";
import { CHUNK_BYTES, type Chunked, digestOf } from "../chunks.ts";
import { unpackLayer } from "../layer.ts";
import { MANIFEST_FILE, type Manifest, manifestSchema } from "../manifest.ts";
import { IMAGES, LAYER, SEAL_FILE, type Seal, sealSchema } from "../seal.ts";
import { type Artifact, artifactSchema, type ChunkDescriptor, CHUNK_TYPES, CONTENT, TEXT_MAX } from "./artifact.ts";
import type { Repository } from "./client.ts";
import type { LocalChunks } from "./local-chunks.ts";

const decompress = promisify(zstdDecompress);
const AT_ONCE = 4;

export interface Found {
  readonly manifest: Manifest;
  readonly seal: Seal;
  readonly manifestBytes: Buffer;
  readonly sealBytes: Buffer;
  readonly chunks: ReadonlyMap<string, ChunkDescriptor>;
}

export interface Pulled {
  readonly fetched: number;
  readonly fetchedBytes: number;
  /** Chunks that were copied from snapshots of this node. */
  readonly local: number;
}

/** What the registry has under an id, without its chunks; undefined when it has nothing. */
export async function find(id: string, repository: Repository): Promise<Found | undefined> {
  const artifact: Artifact | undefined = await repository.getManifest(id, artifactSchema);
  if (!artifact) return undefined;
  const [sealed, ...chunks] = artifact.layers;
  const manifestBytes = await repository.getBlob(artifact.config.digest, TEXT_MAX);
  const sealBytes = await repository.getBlob(sealed.digest, TEXT_MAX);
  const manifest = parse(manifestSchema, manifestBytes, id);
  const seal = parse(sealSchema, sealBytes, id);
  if (manifest.id !== id || seal.manifest !== (await digestOf(Buffer.from(manifestBytes))))
    throw new CollimateError("snapshot_damaged", `the registry's ${id} is another snapshot`);
  return { manifest, seal, manifestBytes, sealBytes, chunks: new Map(chunks.map((one) => [one.annotations[CONTENT], one])) };
}

/** The manifest is written last: a folder without one is debris. */
export async function pull(found: Found, folder: string, repository: Repository, local: LocalChunks): Promise<Pulled> {
  const transfer = new Transfer(found, repository, local);
  await mkdir(join(folder, IMAGES), { recursive: true });
  // A restore opens images when it has become the tree's own user already. Others are kept out further above.
  await chmod(join(folder, IMAGES), 0o755);
  await mkdir(join(folder, LAYER), { recursive: true });
  const limit = pLimit(AT_ONCE);
  for (const image of found.seal.images) {
    await using file = await open(join(folder, IMAGES, image.name), "wx", 0o644);
    await file.truncate(image.size);
    await Promise.all(
      image.chunks.map((digest, at) =>
        limit(async () => {
          if (digest !== null) await file.write(await transfer.chunk(digest), 0, null, at * CHUNK_BYTES);
        }),
      ),
    );
    await file.sync();
  }
  await unpackLayer(transfer.stream(found.seal.layer), join(folder, LAYER));
  await writeFile(join(folder, SEAL_FILE), found.sealBytes, { flush: true });
  await writeFile(join(folder, MANIFEST_FILE), found.manifestBytes, { flush: true });
  return transfer;
}

class Transfer implements Pulled {
  readonly #found: Found;
  readonly #repository: Repository;
  readonly #local: LocalChunks;
  fetched = 0;
  fetchedBytes = 0;
  local = 0;

  constructor(found: Found, repository: Repository, local: LocalChunks) {
    this.#found = found;
    this.#repository = repository;
    this.#local = local;
  }

  async chunk(content: string): Promise<Buffer> {
    const here = await this.#local.read(content);
    if (here) {
      this.local += 1;
      return here;
    }
    const descriptor = this.#found.chunks.get(content);
    if (!descriptor) throw this.#damaged(`lacks the chunk ${content}`);
    const blob = await this.#repository.getBlob(descriptor.digest, CHUNK_BYTES);
    this.fetched += 1;
    this.fetchedBytes += blob.length;
    if (descriptor.mediaType === CHUNK_TYPES.plain) return blob;
    const bytes = await decompress(blob, { maxOutputLength: CHUNK_BYTES }).catch((cause: unknown) => {
      throw this.#damaged(`has a chunk that cannot be unpacked: ${descriptor.digest}`, cause);
    });
    if ((await digestOf(Buffer.from(bytes))) !== content) throw this.#damaged(`has other bytes in the chunk ${content}`);
    return bytes;
  }

  async *stream({ size, chunks }: Chunked): AsyncGenerator<Buffer> {
    for (const [at, digest] of chunks.entries()) {
      const length = Math.min(CHUNK_BYTES, size - at * CHUNK_BYTES);
      yield digest === null ? Buffer.alloc(length) : await this.chunk(digest);
    }
  }

  #damaged(what: string, cause?: unknown): CollimateError {
    return new CollimateError("snapshot_damaged", `the registry's snapshot ${this.#found.manifest.id} ${what}`, { cause });
  }
}

function parse<T>(schema: { parse(value: unknown): T }, bytes: Buffer, id: string): T {
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch (cause) {
    throw new CollimateError("snapshot_damaged", `the registry's snapshot ${id} cannot be read; it may be of another version`, { cause });
  }
}
