// SPDX-License-Identifier: Apache-2.0
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** criu/include/magic.h: IMG_COMMON_MAGIC, PSTREE_MAGIC. */
const COMMON_MAGIC = 0x54564319;
const PSTREE_MAGIC = 0x50273030;
const HEADER_BYTES = 8;

/** images/pstree.proto: pstree_entry. */
export interface TreeEntry {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  readonly threads: readonly number[];
}

/**
 * criu can give a task back a session whose leader is not among its ancestors only if init is the task's parent: it then
 * forks it from a helper ("Can't find a session leader for N" otherwise). Under a subreaper such orphans (any daemon)
 * have another parent. In the images they become children of init, which is where they would be without the subreaper.
 *
 * @returns how many were moved
 */
export async function giveOrphansToInit(images: string): Promise<number> {
  const path = join(images, "pstree.img");
  const entries = decodeTree(await readFile(path));
  const moved = withOrphansAtInit(entries);
  const count = moved.filter((entry, at) => entry !== entries[at]).length;
  if (count === 0) return 0;
  await writeFile(`${path}.new`, encodeTree(moved));
  await rename(`${path}.new`, path);
  return count;
}

/** The first entry is init. */
export function withOrphansAtInit(entries: readonly TreeEntry[]): TreeEntry[] {
  const init = entries[0];
  if (init === undefined) return [];
  const byPid = new Map(entries.map((entry) => [entry.pid, entry]));
  const reachesLeader = (entry: TreeEntry): boolean => {
    for (let at = byPid.get(entry.ppid); at !== undefined; at = byPid.get(at.ppid)) {
      if (at.pid === entry.sid || at.sid === entry.sid) return true;
      if (at === init) return false;
    }
    return false;
  };
  return entries.map((entry) =>
    entry === init || entry.sid === entry.pid || entry.ppid === init.pid || reachesLeader(entry) ? entry : { ...entry, ppid: init.pid },
  );
}

export function decodeTree(image: Buffer): TreeEntry[] {
  if (image.length < HEADER_BYTES || image.readUInt32LE(0) !== COMMON_MAGIC || image.readUInt32LE(4) !== PSTREE_MAGIC)
    throw new Error("not a process tree image");
  const entries: TreeEntry[] = [];
  for (let at = HEADER_BYTES; at < image.length;) {
    const size = image.readUInt32LE(at);
    entries.push(decodeEntry(image.subarray(at + 4, at + 4 + size)));
    at += 4 + size;
  }
  return entries;
}

export function encodeTree(entries: readonly TreeEntry[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(COMMON_MAGIC, 0);
  header.writeUInt32LE(PSTREE_MAGIC, 4);
  const parts = entries.flatMap(({ pid, ppid, pgid, sid, threads }) => {
    const fields = [[1, pid], [2, ppid], [3, pgid], [4, sid], ...threads.map((tid) => [5, tid] as const)] as const;
    const message = Buffer.from(fields.flatMap(([field, value]) => [...varint(field << 3), ...varint(value)]));
    const size = Buffer.alloc(4);
    size.writeUInt32LE(message.length, 0);
    return [size, message];
  });
  return Buffer.concat([header, ...parts]);
}

/** protobuf wire format, type 0: seven bits a byte, lowest first. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value >>> 0;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

function decodeEntry(message: Buffer): TreeEntry {
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error("a process tree image that is cut off");
  };
  const single = new Map<number, number>();
  const threads: number[] = [];
  while (at < message.length) {
    const key = next();
    if ((key & 7) !== 0 || key >>> 3 > 5) throw new Error(`a process tree image with an unknown field ${key}`);
    const value = next();
    if (key >>> 3 === 5) threads.push(value);
    else single.set(key >>> 3, value);
  }
  const field = (number: number): number => {
    const value = single.get(number);
    if (value === undefined) throw new Error(`a process tree image without field ${number}`);
    return value;
  };
  return { pid: field(1), ppid: field(2), pgid: field(3), sid: field(4), threads };
}
