// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface MemorySample {
  /** Unix time in seconds. */
  at: number;
  /** Bytes charged to each sandbox that lives: what it has written itself, and its page tables. */
  sandboxes: number[];
}

const INTERVAL_MS = 250;
/** Of memory that the kernel counts per group: v1, v2. */
const USAGE_FILES = ["memory.usage_in_bytes", "memory.current"];

/** Watches, from outside, what each sandbox of a node is charged for. Reading a file per sandbox costs next to nothing. */
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
      const group = join(this.#folder, name);
      if (content(join(group, "cgroup.procs")) === "") continue; // a prepared place, nobody in it
      const usage = USAGE_FILES.map((file) => content(join(group, file))).find((text) => text !== "");
      if (usage !== undefined) sandboxes.push(Number(usage));
    }
    this.#samples.push({ at: Date.now() / 1_000, sandboxes });
  }

  /**
   * Mebibytes charged to the median child while a group of this width lived; null when nobody looked while all of it did.
   * The parent, which carries the working set, does not move a median.
   */
  perChild(from: number, to: number, width: number): number | null {
    const full = this.#samples.filter(({ at, sandboxes }) => at >= from && at <= to && sandboxes.length > width);
    const most = Math.max(...full.map(({ sandboxes }) => median(sandboxes)));
    return full.length === 0 ? null : most / 2 ** 20;
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
    return readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
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
