// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";

/** What tells one process from a later one that got the same pid. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks since boot, field 22 of /proc/PID/stat (proc(5)). */
  startTime: string;
  /** The boot that the ticks belong to. */
  bootId: string;
}

/** The identity of a living process; undefined when there is none (a zombie counts as none). */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const startTime = await startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime, bootId: await currentBoot() };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await startTimeOf(identity.pid)) === identity.startTime && (await currentBoot()) === identity.bootId;
}

async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The command name is in brackets and may hold spaces and brackets itself: count from the last one.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields === undefined || fields[0] === "Z" || fields[0] === "X") return undefined;
  return fields[19];
}

let boot: Promise<string> | undefined;
function currentBoot(): Promise<string> {
  boot ??= readFile("/proc/sys/kernel/random/boot_id", "utf8").then((text) => text.trim());
  return boot;
}
