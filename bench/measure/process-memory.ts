// SPDX-License-Identifier: Apache-2.0
/** What a sandbox's processes have to themselves, as the kernel counts it. */
import { readFile } from "node:fs/promises";

export interface ProcessMemory {
  /** Private_Dirty of /proc/PID/smaps_rollup: pages that it wrote and that nobody shares. */
  readonly privateMiB: number;
  /** VmPTE of /proc/PID/status. */
  readonly pageTablesMiB: number;
  /** Lines of /proc/PID/maps. */
  readonly vmas: number;
}

export async function memoryOf(pids: readonly number[]): Promise<ProcessMemory> {
  const each = await Promise.all(pids.map(oneProcess));
  const sum = (key: keyof ProcessMemory) => each.reduce((total, one) => total + one[key], 0);
  return { privateMiB: sum("privateMiB"), pageTablesMiB: sum("pageTablesMiB"), vmas: sum("vmas") };
}

async function oneProcess(pid: number): Promise<ProcessMemory> {
  const [rollup, status, maps] = await Promise.all(
    ["smaps_rollup", "status", "maps"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8")),
  );
  return {
    privateMiB: kibibytes(rollup, "Private_Dirty") / 1024,
    pageTablesMiB: kibibytes(status, "VmPTE") / 1024,
    vmas: (maps ?? "").split("\n").filter(Boolean).length,
  };
}

function kibibytes(text: string | undefined, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text ?? "")?.[1];
  if (found === undefined) throw new Error(`no ${field} in a file of /proc`);
  return Number(found);
}
