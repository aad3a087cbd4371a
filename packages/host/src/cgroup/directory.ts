// SPDX-License-Identifier: Apache-2.0
import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";

import { REMOVE_DEADLINE_MS } from "./cgroup.ts";
import { CgroupError, errnoOf, readControlIfThere } from "./control-file.ts";
import { until } from "./poll.ts";

export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST") return;
    throw new CgroupError(`mkdir of control group ${path}: ${errnoOf(cause) ?? String(cause)}`, { cause });
  }
}

/** rmdir says EBUSY while the last tasks are on their way out: tried again, for a bounded time. */
export async function removeDirectory(path: string): Promise<void> {
  const attempt = async () => {
    try {
      await rmdir(path);
      return true;
    } catch (cause) {
      const errno = errnoOf(cause);
      if (errno === "ENOENT") return true;
      if (errno === "EBUSY") return false;
      throw new CgroupError(`rmdir of control group ${path}: ${errno ?? String(cause)}`, { cause });
    }
  };
  await until(attempt, REMOVE_DEADLINE_MS, `removal of control group ${path} (is a process left in it?)`);
}

export async function processesIn(directory: string): Promise<number[]> {
  const text = (await readControlIfThere(join(directory, "cgroup.procs"))) ?? "";
  return text.split("\n").filter(Boolean).map(Number);
}
