// SPDX-License-Identifier: Apache-2.0
/** What two snapshots have in common, by the digests of their chunks; zeros count for nothing. */
import { CHUNK_BYTES, type Seal } from "@collimate/snapshot";

type Contents = Pick<Seal, "images" | "layer">;

export interface Difference {
  readonly images: { readonly only: [string[], string[]]; readonly changed: string[]; readonly same: number };
  readonly layer: "same" | "differs";
  /** Bytes of chunks that both have, and that only the one or the other has. */
  readonly sharedBytes: number;
  readonly onlyBytes: [number, number];
}

export function difference(a: Contents, b: Contents): Difference {
  const [ofA, ofB] = [byName(a), byName(b)];
  const common = [...ofA.keys()].filter((name) => ofB.has(name));
  const changed = common.filter((name) => ofA.get(name) !== ofB.get(name));
  const [chunksA, chunksB] = [chunksOf(a), chunksOf(b)];
  const sum = (chunks: ReadonlyMap<string, number>, keep: (digest: string) => boolean) =>
    [...chunks].reduce((bytes, [digest, length]) => (keep(digest) ? bytes + length : bytes), 0);
  return {
    images: {
      only: [[...ofA.keys()].filter((name) => !ofB.has(name)), [...ofB.keys()].filter((name) => !ofA.has(name))],
      changed,
      same: common.length - changed.length,
    },
    layer: JSON.stringify(a.layer) === JSON.stringify(b.layer) ? "same" : "differs",
    sharedBytes: sum(chunksA, (digest) => chunksB.has(digest)),
    onlyBytes: [sum(chunksA, (digest) => !chunksB.has(digest)), sum(chunksB, (digest) => !chunksA.has(digest))],
  };
}

function byName({ images }: Contents): Map<string, string> {
  return new Map(images.map(({ name, size, chunks }) => [name, `${size} ${chunks.join()}`]));
}

function chunksOf({ images, layer }: Contents): Map<string, number> {
  const found = new Map<string, number>();
  for (const { size, chunks } of [...images, layer]) {
    for (const [at, digest] of chunks.entries()) if (digest !== null) found.set(digest, Math.min(CHUNK_BYTES, size - at * CHUNK_BYTES));
  }
  return found;
}
