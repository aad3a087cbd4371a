// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** From the statistics that criu writes beside the images of a dump. Times in ms, sizes in pages of 4 KiB. */
export interface DumpStats {
  /** Until all tasks stood still. */
  readonly freezingMs: number;
  /** How long the tasks stood still. */
  readonly frozenMs: number;
  readonly pagesScanned: number;
  /** Left to the parent snapshot. */
  readonly pagesInParent: number;
  readonly pagesWritten: number;
}

/** criu/include/magic.h: IMG_SERVICE_MAGIC, STATS_MAGIC. */
const SERVICE_MAGIC = 0x55105940;
const STATS_MAGIC = 0x57093306;

function* fields(message: Buffer): Generator<{ field: number; value: number; bytes?: Buffer }> {
  let at = 0;
  const varint = (): number => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("cut off");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(value);
    }
    throw new Error("number too long");
  };
  while (at < message.length) {
    const key = varint();
    const field = key >>> 3;
    const type = key & 7;
    if (type === 0) {
      yield { field, value: varint() };
    } else if (type === 2) {
      const length = varint();
      if (length > message.length - at) throw new Error("cut off");
      yield { field, value: length, bytes: message.subarray(at, at + length) };
      at += length;
    } else {
      throw new Error(`wire type ${type}`);
    }
  }
}

/** Reads an image as criu/images/stats.proto describes it. */
export function parseDumpStats(image: Buffer): DumpStats {
  if (image.length < 12 || image.readUInt32LE(0) !== SERVICE_MAGIC || image.readUInt32LE(4) !== STATS_MAGIC) {
    throw new Error("not a statistics image of criu");
  }
  const size = image.readUInt32LE(8);
  if (size > image.length - 12) throw new Error("the statistics image is cut off");
  const values = new Map<number, number>();
  for (const outer of fields(image.subarray(12, 12 + size))) {
    if (outer.field !== 1 || outer.bytes === undefined) continue;
    for (const inner of fields(outer.bytes)) values.set(inner.field, inner.value);
  }
  const get = (field: number) => values.get(field) ?? 0;
  return {
    freezingMs: get(1) / 1000,
    frozenMs: get(2) / 1000,
    pagesScanned: get(5),
    pagesInParent: get(6),
    pagesWritten: get(7),
  };
}

export async function readDumpStats(directory: string): Promise<DumpStats> {
  return parseDumpStats(await readFile(join(directory, "stats-dump")));
}
