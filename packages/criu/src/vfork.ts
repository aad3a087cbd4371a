// SPDX-License-Identifier: Apache-2.0
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

/** Where a task sleeps in the kernel: proc(5), /proc/pid/wchan. In vfork it is kernel_clone, or a function inlined there. */
async function someoneVforks(cgroup: string): Promise<boolean> {
  const processes = (await readFile(join(cgroup, "cgroup.procs"), "utf8")).split("\n").filter(Boolean);
  for (const process of processes) {
    for (const thread of await readdir(`/proc/${process}/task`).catch(() => [])) {
      const where = await readFile(`/proc/${process}/task/${thread}/wchan`, "utf8").catch(() => "");
      if (/kernel_clone|do_fork|vfork/.test(where)) return true;
    }
  }
  return false;
}
