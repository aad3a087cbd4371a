// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface MemorySample {
  /** Unix time in seconds. */
  at: number;
  /** Bytes of anonymous memory charged to each sandbox that lives: the pages that it wrote itself and shares with nobody. */
  sandboxes: number[];
}

const INTERVAL_MS = 100;
/** Anonymous memory in a group's memory.stat: v1 calls it rss, v2 anon. */
const ANONYMOUS = /^(?:rss|anon) (\d+)$/m;

/**
 * Watches, from outside, what each sandbox of a node has written. Pages that a child shares with its parent are charged to the
 * holder, so a child's own charge is its private memory. Reading a file per sandbox costs next to nothing.
 */
export class ChildMemoryWatch implements Disposable {
  readonly #folder: string | undefined;
  readonly #samples: MemorySample[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(nodeId: string, roots: readonly string[] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"]) {
    this.#folder = roots.map((root) => join(root, "collimate", nodeId)).find((path) => entries(path) !== undefined);
    this.#timer = setInterval(() => this.sample(), INTERVAL_MS);
  }

  sample(): void {
    if (this.#folder === undefined) return;
    const sandboxes: number[] = [];
    for (const name of entries(this.#folder) ?? []) {
      if (!name.startsWith("slot-")) continue;
      const group = join(this.#folder, name);
      if (content(join(group, "cgroup.procs")) === "") continue; // a prepared place, nobody in it
      const [, anonymous] = ANONYMOUS.exec(content(join(group, "memory.stat"))) ?? [];
      if (anonymous !== undefined) sandboxes.push(Number(anonymous));
    }
    this.#samples.push({ at: Date.now() / 1_000, sandboxes });
  }

  /**
   * Mebibytes of the median child's private memory while a group of this width lived; null when nobody looked while all of it
   * did. The parent, which carries the working set, does not move a median; nor does a look in the middle of the group's start
   * or end, when children have more or less than they will have or had.
   */
  perChild(from: number, to: number, width: number): number | null {
    const looks = this.#samples.filter(({ at, sandboxes }) => at >= from && at <= to && sandboxes.length > width);
    return looks.length === 0 ? null : median(looks.map(({ sandboxes }) => median(sandboxes))) / 2 ** 20;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function entries(path: string): string[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return undefined;
  }
}

function content(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
