// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type FrozenCgroup, freeze } from "./freezer.ts";

/** How long a program may sit between vfork and exec before the dump is tried all the same. */
const PATIENCE_MS = 1000;
/** In vfork it is kernel_clone, or a function inlined there. */
const IN_VFORK = /kernel_clone|do_fork|vfork/;
/** Stopped by SIGSTOP or from a terminal, also when frozen besides. */
const STOPPED = /do_signal_stop/;

export interface Standstill extends FrozenCgroup {
  /** Some task was stopped already, by SIGSTOP or from a terminal. */
  readonly someoneIsStopped: boolean;
}

/**
 * Freezes a cgroup at a moment when none of its processes is between vfork(2) and exec: the parent waits there in the
 * kernel, where ptrace does not reach it, and criu would give up after its time limit ("Unseizable non-zombie").
 */
export async function standStill(cgroup: string, limitMs: number): Promise<Standstill> {
  const until = performance.now() + Math.min(PATIENCE_MS, limitMs);
  for (;;) {
    const frozen = await freeze(cgroup, limitMs);
    const places = sleepingPlaces(cgroup);
    if (performance.now() > until || !places.some((place) => IN_VFORK.test(place)))
      return { ...frozen, someoneIsStopped: places.some((place) => STOPPED.test(place)) };
    frozen.thaw();
    await delay(1);
  }
}

/**
 * A process that a debugger holds: only one can trace it, so criu could not, and would try for ten seconds while the tree
 * stands still.
 *
 * @returns its pid and the debugger's
 */
export function someoneTraced(cgroup: string): { pid: number; tracer: number } | undefined {
  for (const process of processesOf(cgroup)) {
    const tracer = Number(/^TracerPid:\t(\d+)/m.exec(readOf(process, "status"))?.[1] ?? 0); // proc(5)
    if (tracer !== 0) return { pid: Number(process), tracer };
  }
  return undefined;
}

/** Where all tasks sleep in the kernel: proc(5), /proc/pid/wchan. Read at once, for the reason that freeze() gives. */
function sleepingPlaces(cgroup: string): string[] {
  return processesOf(cgroup).flatMap((process) => tasksOf(process).map((task) => readOf(process, `task/${task}/wchan`)));
}

function processesOf(cgroup: string): string[] {
  return readFileSync(join(cgroup, "cgroup.procs"), "utf8").split("\n").filter(Boolean);
}

function tasksOf(process: string): string[] {
  try {
    return readdirSync(`/proc/${process}/task`);
  } catch {
    return []; // it has ended
  }
}

function readOf(process: string, file: string): string {
  try {
    return readFileSync(`/proc/${process}/${file}`, "utf8");
  } catch {
    return ""; // it has ended
  }
}
