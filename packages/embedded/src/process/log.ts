// SPDX-License-Identifier: Apache-2.0
import { open, rename, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";

/** A log beyond this is set aside (one old copy is kept) when its process starts again. */
const ROTATE_AT_BYTES = 16 * 1024 * 1024;

export async function openLog(path: string): Promise<FileHandle> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > ROTATE_AT_BYTES) await rename(path, `${path}.1`);
  return open(path, "a", 0o640);
}

/** The last lines of a log, cut to a size that suits an error message. */
export async function tailOf(path: string, lines = 20): Promise<string> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return "(no log)";
  try {
    const { size } = await file.stat();
    const length = Math.min(size, 16 * 1024);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } finally {
    await file.close();
  }
}
