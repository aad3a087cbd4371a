// SPDX-License-Identifier: Apache-2.0
import { accessSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const LIMIT_MS = 20_000;

export function exists(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Waits for something outside of Node that has no event to listen to. */
export async function waitFor(what: string, condition: () => boolean, limitMs = LIMIT_MS): Promise<void> {
  const until = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`waited ${limitMs} ms in vain for ${what}`);
    await delay(2);
  }
}

export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Pids of a tree, its root first, in an order that two copies of a tree share. */
export function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

export function threadsOf(pid: number): number {
  return Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** KiB of memory that this process shares with nobody. */
export function privateKiB(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const value = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)?.[1] ?? 0);
  return value("Private_Dirty") + value("Private_Clean");
}
