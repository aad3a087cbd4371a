// SPDX-License-Identifier: Apache-2.0
/** Sends a sealed snapshot to a registry. Only chunks that are not there travel. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { CollimateError } from "@collimate/contracts";
import pLimit from "p-limit";
import { digestOf, fileChunks, isZero, streamChunks } from "../chunks.ts";
import { packLayer } from "../layer.ts";
import { MANIFEST_FILE, type Manifest } from "../manifest.ts";
import { IMAGES, LAYER, readSeal, SEAL_FILE, type Seal } from "../seal.ts";
import { ARTIFACT, type ChunkDescriptor, CHUNK_TYPES, CONTENT, type Descriptor, MANIFEST_TYPE, SEAL_TYPE } from "./artifact.ts";
import { OCI_MANIFEST, type Repository } from "./client.ts";

const compress = promisify(zstdCompress);
/** Memory compresses well at once; higher levels cost the node's processors more than they save. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** A chunk that shrinks by less is sent as it is: whoever reads it is spared the work. */
const WORTH_IT = 0.9;
const AT_ONCE = 4;
/** Chunks that are read ahead of what is being sent. */
const IN_MEMORY = 2 * AT_ONCE;

export interface Pushed {
  readonly digest: string;
  readonly chunks: number;
  /** Of them, those that had to be sent. */
  readonly sent: number;
  readonly sentBytes: number;
}

export async function push(folder: string, manifest: Manifest, repository: Repository): Promise<Pushed> {
  const sealed = await readSeal(folder);
  if (!sealed) throw new CollimateError("internal", `snapshot ${manifest.id} was not sealed`);
  const upload = new Upload(repository);
  // The seal says what each must be: a file that has changed since would be stored under a name that no seal knows.
  for await (const piece of contents(folder, sealed)) await upload.add(piece.bytes, piece.digest, piece.place);
  const chunks = await upload.done();
  const config = await upload.text(MANIFEST_TYPE, await readFile(join(folder, MANIFEST_FILE)));
  const seal = await upload.text(SEAL_TYPE, await readFile(join(folder, SEAL_FILE)));
  const digest = await repository.putManifest(manifest.id, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: ARTIFACT,
    config,
    layers: [seal, ...chunks],
  });
  return { digest, chunks: chunks.length, sent: upload.sent, sentBytes: upload.sentBytes };
}

interface Piece {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly digest: string | null | undefined;
  readonly place: string;
}

async function* contents(folder: string, sealed: Seal): AsyncGenerator<Piece> {
  for (const image of sealed.images) yield* numbered(fileChunks(join(folder, IMAGES, image.name)), image.chunks, `${IMAGES}/${image.name}`);
  yield* numbered(streamChunks(packLayer(join(folder, LAYER))), sealed.layer.chunks, LAYER);
}

async function* numbered(
  pieces: AsyncIterable<Buffer<ArrayBuffer>>,
  digests: readonly (string | null)[],
  place: string,
): AsyncGenerator<Piece> {
  let at = 0;
  for await (const bytes of pieces) yield { bytes, digest: digests[at++], place };
}

class Upload {
  readonly #repository: Repository;
  readonly #limit = pLimit(AT_ONCE);
  readonly #running = new Map<string, Promise<ChunkDescriptor>>();
  /** Only what has not ended: a race with one that has ended would not wait. */
  readonly #inMemory = new Set<Promise<void>>();
  sent = 0;
  sentBytes = 0;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  async add(bytes: Buffer<ArrayBuffer>, wanted: string | null | undefined, place: string): Promise<void> {
    const found = isZero(bytes) ? null : await digestOf(bytes);
    if (found !== wanted) throw new CollimateError("snapshot_damaged", `${place} has changed since it was sealed`);
    if (found === null || this.#running.has(found)) return;
    // The caller's buffer is used again.
    const chunk = Buffer.from(bytes);
    const work = this.#limit(() => this.#send(chunk, found));
    work.catch(() => undefined);
    this.#running.set(found, work);
    const inMemory = work.then(
      () => void this.#inMemory.delete(inMemory),
      () => void this.#inMemory.delete(inMemory),
    );
    this.#inMemory.add(inMemory);
    if (this.#inMemory.size >= IN_MEMORY) await Promise.race(this.#inMemory);
  }

  done(): Promise<ChunkDescriptor[]> {
    return Promise.all(this.#running.values());
  }

  async text(mediaType: string, bytes: Buffer<ArrayBuffer>): Promise<Descriptor> {
    const digest = await digestOf(bytes);
    if (!(await this.#repository.hasBlob(digest))) await this.#repository.putBlob(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  }

  async #send(chunk: Buffer<ArrayBuffer>, content: string): Promise<ChunkDescriptor> {
    const small = Buffer.from(await compress(chunk, LEVEL));
    const pays = small.length < chunk.length * WORTH_IT;
    const [bytes, digest] = pays ? [small, await digestOf(small)] : [chunk, content];
    if (!(await this.#repository.hasBlob(digest))) {
      await this.#repository.putBlob(digest, bytes);
      this.sent += 1;
      this.sentBytes += bytes.length;
    }
    return { mediaType: pays ? CHUNK_TYPES.zstd : CHUNK_TYPES.plain, digest, size: bytes.length, annotations: { [CONTENT]: content } };
  }
}
