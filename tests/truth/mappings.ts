// SPDX-License-Identifier: Apache-2.0
/** Reads /proc/PID/maps (proc_pid_maps(5)) for what is plain anonymous memory and what is a file's. */

interface Region {
  readonly start: number;
  readonly end: number;
  readonly anonymous: boolean;
  readonly path: string;
  readonly line: string;
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) ...([ps]) [0-9a-f]+ \S+ (\d+) *(.*)$/;

function read(maps: string): Region[] {
  return maps
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, start = "", end = "", sharing, inode, path = ""] = LINE.exec(line) ?? [];
      const anonymous = sharing === "p" && inode === "0" && !path.startsWith("/");
      return { start: Number.parseInt(start, 16), end: Number.parseInt(end, 16), anonymous, path, line };
    });
}

export function anonymousBytes(maps: string): number {
  return read(maps)
    .filter(({ anonymous }) => anonymous)
    .reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Regions of `before` that are no more anonymous, in whole or in part, and those of files that `before` does not map. */
export function mappedOtherwise(before: string, after: string): string[] {
  const [then, now] = [read(before), read(after)];
  // [vdso] and [vvar] are the kernel's.
  const lost = then.filter((region) => region.anonymous && !region.path.startsWith("[v") && !isAnonymous(region, now));
  const paths = new Set(then.map(({ path }) => path));
  const foreign = now.filter(({ anonymous, path }) => !anonymous && !paths.has(path));
  return [...lost.map(({ line }) => `was anonymous: ${line}`), ...foreign.map(({ line }) => `is new: ${line}`)];
}

function isAnonymous({ start, end }: Region, now: readonly Region[]): boolean {
  let at = start;
  for (const region of now) if (region.anonymous && region.start <= at && at < region.end) at = region.end;
  return at >= end;
}
