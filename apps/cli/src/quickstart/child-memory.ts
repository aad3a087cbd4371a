// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Look {
  /** Unix time in seconds. */
  at: number;
  /** Sandboxes that lived then. */
  alive: number;
  /** Bytes that each of some of them had to itself. */
  privateBytes: number[];
}

const INTERVAL_MS = 250;
/** Sandboxes looked at each time, in turn: reading all of a wide group would slow down what is measured. */
const AT_A_TIME = 5;

/** Bytes of memory that a process has written and shares with nobody (proc(5), smaps_rollup). */
export type PrivateBytesOf = (pid: number) => number;

export const privateBytesOf: PrivateBytesOf = (pid) =>
  Number(/^Private_Dirty:\s+(\d+) kB$/m.exec(content(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;

/**
 * Watches, from outside, what the sandboxes of a node have written. The statistics of a control group would be cheaper, but
 * they count what a restore needed for a moment and follow seconds later.
 */
export class ChildMemoryWatch implements Disposable {
  readonly #folder: string | undefined;
  readonly #privateBytesOf: PrivateBytesOf;
  readonly #looks: Look[] = [];
  readonly #timer: NodeJS.Timeout;
  #turn = 0;

  constructor(nodeId: string, roots: readonly string[] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"], read: PrivateBytesOf = privateBytesOf) {
    this.#folder = roots.map((root) => join(root, "collimate", nodeId)).find((path) => entries(path) !== undefined);
    this.#privateBytesOf = read;
    this.#timer = setInterval(() => this.look(), INTERVAL_MS);
  }

  look(): void {
    const folder = this.#folder;
    if (folder === undefined) return;
    const alive = (entries(folder) ?? [])
      .filter((name) => name.startsWith("slot-")) // holders have a group of their own
      .map((name) =>
        content(join(folder, name, "cgroup.procs"))
          .split("\n")
          .filter(Boolean)
          .map(Number),
      )
      .filter((pids) => pids.length > 0); // else a prepared place, nobody in it
    const chosen = alive.map((_, i) => alive[(this.#turn + i) % alive.length] ?? []).slice(0, AT_A_TIME);
    this.#turn += AT_A_TIME;
    const privateBytes = chosen.map((pids) => pids.reduce((sum, pid) => sum + this.#privateBytesOf(pid), 0));
    this.#looks.push({ at: Date.now() / 1_000, alive: alive.length, privateBytes });
  }

  /**
   * Mebibytes of a median child's private memory, at its largest while a group of this width lived; null when nobody looked
   * while all of it did. The parent, which carries the working set, does not move a median.
   */
  perChild(from: number, to: number, width: number): number | null {
    const looks = this.#looks.filter(({ at, alive }) => at >= from && at <= to && alive > width);
    return looks.length === 0 ? null : Math.max(...looks.map(({ privateBytes }) => median(privateBytes))) / 2 ** 20;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
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
