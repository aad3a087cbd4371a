// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";

/** When a process started, in clock ticks since boot: field 22 of /proc/PID/stat (proc(5)). The second field may hold spaces and brackets. */
export async function startTimeOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[22 - 3]);
}
