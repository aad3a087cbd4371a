// SPDX-License-Identifier: Apache-2.0
import { open } from "node:fs/promises";

const TAIL_BYTES = 16_384;
const LINES = 8;
const LINE_LENGTH = 300;

/** Said on every run, by every criu, and never the cause. */
const NOISE = [/RLIMIT_NOFILE/, /was built without libnftables/, /FAILED\.?$/];

/**
 * The lines of a criu log that tell why it failed: the errors, else warnings,
 * else whatever stands last. A log may hold names chosen inside a sandbox, so
 * control characters are replaced and lines cut.
 */
export function meaningfulLines(log: string): string[] {
  const lines = log
    .split("\n")
    // biome-ignore lint: control characters are what is meant
    .map((line) =>
      line
        .replace(/[\u0000-\u001f\u007f-\u009f]/g, "?")
        .trim()
        .slice(0, LINE_LENGTH),
    )
    .filter((line) => line !== "" && !NOISE.some((noise) => noise.test(line)));
  for (const kind of [/Error \(|^Error/, /Warn /, /./]) {
    const found = lines.filter((line) => kind.test(line));
    if (found.length > 0) return found.slice(-LINES);
  }
  return [];
}

/** As {@link meaningfulLines} for a file; a missing one has no lines. */
export async function readMeaningfulLines(path: string): Promise<string[]> {
  let file;
  try {
    file = await open(path, "r");
    const { size } = await file.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return meaningfulLines(buffer.subarray(0, bytesRead).toString("utf8"));
  } catch {
    return [];
  } finally {
    await file?.close();
  }
}
