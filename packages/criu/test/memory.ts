// SPDX-License-Identifier: Apache-2.0
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Comparison {
  readonly bytes: number;
  /** Whether both have mappings of any kind at the same addresses. */
  readonly sameLayout: boolean;
  /**
   * 32-byte blocks that differ. One per thread is allowed for: the kernel
   * writes the number of the CPU into each thread's rseq area, which is such a
   * block (include/uapi/linux/rseq.h).
   */
  readonly blocks: readonly string[];
}

const BLOCK = 32;
const CHUNK = 4 << 20;
/** Of a longer range only the ends and the middle are compared: nobody fills a TiB. */
const LONG = 1 << 30;

/** Ranges of the mappings that `wanted` says yes to, from their text in /proc/PID/smaps; neighbours joined. */
function mappings(pid: number, wanted: (text: string) => boolean): Range[] {
  const ranges: Range[] = [];
  for (const text of readFileSync(`/proc/${pid}/smaps`, "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
    const match = /^([0-9a-f]+)-([0-9a-f]+) /.exec(text);
    // Above the 47 bits of user addresses lies only [vsyscall]; below they are exact as numbers.
    if (match === null || match[1]?.length === 16 || !wanted(text)) continue;
    const [start, end] = [Number.parseInt(match[1] ?? "", 16), Number.parseInt(match[2] ?? "", 16)];
    const last = ranges.at(-1);
    if (last?.end === start) ranges[ranges.length - 1] = { start: last.start, end };
    else ranges.push({ start, end });
  }
  return ranges;
}

/**
 * Left out: what the kernel makes ([vvar], [vdso]) and droppable memory ("dp"),
 * the state of random generators, which must NOT be the same in a copy.
 */
function isReadablePrivateMemory(text: string): boolean {
  return /^\S+ r..p /.test(text) && !/^.*\[v\w+\]\n/.test(text) && !/^VmFlags:.* dp\b/m.test(text);
}

function withoutEmptyParts(range: Range): Range[] {
  const { start, end } = range;
  if (end - start <= LONG) return [range];
  const middle = start + (end - start) / 2;
  return [
    { start, end: start + CHUNK },
    { start: middle - CHUNK, end: middle + CHUNK },
    { start: end - CHUNK, end },
  ];
}

function readAt(file: number, buffer: Buffer, address: number): boolean {
  try {
    return readSync(file, buffer, 0, buffer.length, address) === buffer.length;
  } catch {
    return false;
  }
}

/** Compares all private memory of two processes that stand still, byte for byte. */
export function compareMemory(one: number, other: number): Comparison {
  const ranges = mappings(one, isReadablePrivateMemory);
  const [layout, otherLayout] = [one, other].map((pid) => JSON.stringify(mappings(pid, () => true)));
  const files = [openSync(`/proc/${one}/mem`, "r"), openSync(`/proc/${other}/mem`, "r")] as const;
  const blocks = new Set<string>();
  let bytes = 0;
  try {
    for (const { start, end } of ranges.flatMap(withoutEmptyParts)) {
      for (let at = start; at < end; at += CHUNK) {
        const size = Math.min(CHUNK, end - at);
        const [a, b] = [Buffer.alloc(size), Buffer.alloc(size)];
        const readable = [readAt(files[0], a, at), readAt(files[1], b, at)];
        // Pages of a file behind its end can be read in neither.
        if (readable[0] !== readable[1]) blocks.add(`unreadable ${at.toString(16)}`);
        bytes += size;
        if (a.equals(b)) continue;
        for (let offset = 0; offset < size; offset += BLOCK) {
          if (a.compare(b, offset, offset + BLOCK, offset, offset + BLOCK) !== 0) {
            blocks.add((at + offset).toString(16));
          }
        }
      }
    }
  } finally {
    for (const file of files) closeSync(file);
  }
  return { bytes, sameLayout: layout === otherLayout, blocks: [...blocks] };
}
