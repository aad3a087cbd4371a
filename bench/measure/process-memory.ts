// SPDX-License-Identifier: Apache-2.0
/** What a sandbox's processes have to themselves, as the kernel counts it. */
import { readFile } from "node:fs/promises";
import { z } from "zod";

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

const NOTHING: ProcessMemory = { privateMiB: 0, pageTablesMiB: 0, vmas: 0 };
const gone = z.object({ code: z.enum(["ENOENT", "ESRCH"]) });

async function oneProcess(pid: number): Promise<ProcessMemory> {
  try {
    const [rollup, status, maps] = await Promise.all(
      ["smaps_rollup", "status", "maps"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8")),
    );
    // A zombie has a status and no memory.
    if (!status?.includes("\nVmPTE:")) return NOTHING;
    return {
      privateMiB: kibibytes(rollup, "Private_Dirty") / 1024,
      pageTablesMiB: kibibytes(status, "VmPTE") / 1024,
      vmas: (maps ?? "").split("\n").filter(Boolean).length,
    };
  } catch (error) {
    // What served an exec a moment ago may end while it is looked at.
    if (gone.safeParse(error).success) return NOTHING;
    throw error;
  }
}

function kibibytes(text: string | undefined, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text ?? "")?.[1];
  if (found === undefined) throw new Error(`no ${field} in a file of /proc`);
  return Number(found);
}
