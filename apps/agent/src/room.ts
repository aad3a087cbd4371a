// SPDX-License-Identifier: Apache-2.0
/** Memory of this host, as the kernel tells it. */
import { readFile } from "node:fs/promises";

export interface HostMemory {
  /** Bytes. */
  readonly total: number;
  /** Bytes that can be had without swapping. */
  readonly available: number;
}

export async function readMemory(): Promise<HostMemory> {
  const text = await readFile("/proc/meminfo", "utf8");
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
  return { total: kib("MemTotal") * 1024, available: kib("MemAvailable") * 1024 };
}
