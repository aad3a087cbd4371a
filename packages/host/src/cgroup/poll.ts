// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";

import { CgroupError } from "./control-file.ts";

/**
 * Tries until it answers true, waiting 1, 2, 4 ... 50 ms in between; fails after `deadlineMs`. For what the kernel
 * tells of in no other way (a v1 freezer, a group's last task on its way out).
 */
export async function until(attempt: () => Promise<boolean>, deadlineMs: number, what: string): Promise<void> {
  const end = Date.now() + deadlineMs;
  for (let wait = 1; !(await attempt()); wait = Math.min(wait * 2, 50)) {
    if (Date.now() >= end) throw new CgroupError(`${what}: not within ${deadlineMs} ms`);
    await delay(wait);
  }
}
