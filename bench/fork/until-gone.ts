// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const LIMIT_MS = 20_000;

/** Resolves when these processes, which need not be our children, have ended; a zombie has. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  const until = performance.now() + LIMIT_MS;
  for (const pid of pids) {
    while (await lives(pid)) {
      if (performance.now() > until) throw new Error(`process ${pid} does not end`);
      await delay(5);
    }
  }
}

async function lives(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const state = stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
  return state !== "" && state !== "Z" && state !== "X";
}
