// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type FrozenCgroup, freeze } from "./freezer.ts";

/** How long a program may sit between vfork and exec before the dump is tried all the same. */
const PATIENCE_MS = 1000;

/**
 * Freezes a cgroup at a moment when none of its processes is between vfork(2) and exec: the parent waits there in the
 * kernel, where ptrace does not reach it, and criu would give up after its time limit ("Unseizable non-zombie").
 */
export async function freezeOutsideVfork(cgroup: string, limitMs: number): Promise<FrozenCgroup> {
  const until = performance.now() + Math.min(PATIENCE_MS, limitMs);
  for (;;) {
    const frozen = await freeze(cgroup, limitMs);
    if (performance.now() > until || !(await someoneVforks(cgroup))) return frozen;
    await frozen.thaw();
    await delay(1);
  }
}

/** In vfork it is kernel_clone, or a function inlined there. */
function someoneVforks(cgroup: string): Promise<boolean> {
  return someoneSleepsIn(cgroup, /kernel_clone|do_fork|vfork/);
}

/** Stopped by SIGSTOP or from a terminal, also when frozen besides. */
export function someoneIsStopped(cgroup: string): Promise<boolean> {
  return someoneSleepsIn(cgroup, /do_signal_stop/);
}

/**
 * A process that a debugger holds: only one can trace it, so criu could not, and would try for ten seconds while the tree
 * stands still.
 *
 * @returns its pid and the debugger's
 */
export async function someoneTraced(cgroup: string): Promise<{ pid: number; tracer: number } | undefined> {
  for (const process of await processesOf(cgroup)) {
    // proc(5); without a detour over threads of ours: it takes microseconds.
    const tracer = Number(/^TracerPid:\t(\d+)/m.exec(statusOf(process))?.[1] ?? 0);
    if (tracer !== 0) return { pid: Number(process), tracer };
  }
  return undefined;
}

function statusOf(process: string): string {
  try {
    return readFileSync(`/proc/${process}/status`, "utf8");
  } catch {
    return ""; // It has ended.
  }
}

async function processesOf(cgroup: string): Promise<string[]> {
  return (await readFile(join(cgroup, "cgroup.procs"), "utf8")).split("\n").filter(Boolean);
}

/** Where tasks sleep in the kernel: proc(5), /proc/pid/wchan. */
async function someoneSleepsIn(cgroup: string, where: RegExp): Promise<boolean> {
  for (const process of await processesOf(cgroup)) {
    for (const thread of await readdir(`/proc/${process}/task`).catch(() => [])) {
      if (where.test(await readFile(`/proc/${process}/task/${thread}/wchan`, "utf8").catch(() => ""))) return true;
    }
  }
  return false;
}
