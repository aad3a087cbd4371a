// SPDX-License-Identifier: Apache-2.0
/** Bytes in pieces of a fixed size, each known by its SHA-256. Pieces of nothing but zeros are not kept. */
import { open } from "node:fs/promises";
import { z } from "zod";

export const CHUNK_BYTES = 4 * 2 ** 20;

export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** A file or stream as a list of its chunks: each but the last has `CHUNK_BYTES`; null is one of zeros. */
export const chunkedSchema = z
  .object({ size: z.number().int().min(0), chunks: z.array(digestSchema.nullable()) })
  .refine(({ size, chunks }) => chunks.length === Math.ceil(size / CHUNK_BYTES), "as many chunks as its size has");
export type Chunked = z.infer<typeof chunkedSchema>;

const ZEROS = Buffer.alloc(CHUNK_BYTES);

/** Hashed by a thread of Node's pool: what else the process does goes on. */
export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256:${Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex")}`;
}

export function isZero(bytes: Uint8Array): boolean {
  return ZEROS.compare(bytes, 0, bytes.length, 0, bytes.length) === 0;
}

export async function describeChunks(pieces: AsyncIterable<Buffer<ArrayBuffer>>): Promise<Chunked> {
  const chunks: (string | null)[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    chunks.push(isZero(piece) ? null : await digestOf(piece));
  }
  return { size, chunks };
}

/** The next piece overwrites the last: who keeps one must copy it. */
export async function* fileChunks(path: string): AsyncGenerator<Buffer<ArrayBuffer>> {
  await using file = await open(path, "r");
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (;;) {
    let filled = 0;
    while (filled < CHUNK_BYTES) {
      const { bytesRead } = await file.read(buffer, filled, CHUNK_BYTES - filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    if (filled > 0) yield buffer.subarray(0, filled);
    if (filled < CHUNK_BYTES) return;
  }
}

/** Cuts a stream anew. The next piece overwrites the last. */
export async function* streamChunks(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer<ArrayBuffer>> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let filled = 0;
  for await (const part of stream) {
    for (let at = 0; at < part.length;) {
      const taken = part.copy(buffer, filled, at);
      at += taken;
      filled += taken;
      if (filled < CHUNK_BYTES) continue;
      yield buffer;
      filled = 0;
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled);
}
