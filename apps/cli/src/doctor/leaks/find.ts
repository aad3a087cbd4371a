// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import type { StatePaths } from "../../state/paths.ts";
import { leakedFolders } from "./folders.ts";
import { leakedGroups, leakedGroupProcesses } from "./groups.ts";
import type { Leak } from "./leak.ts";
import { leakedMounts } from "./mounts.ts";
import { leakedNetwork } from "./network.ts";
import { leakedPrograms } from "./programs.ts";
import { leakedRows } from "./rows.ts";
import { lookAround } from "./scene.ts";

/** In the order in which they can be removed: what uses something before what is used. */
const FINDERS = [leakedGroupProcesses, leakedPrograms, leakedMounts, leakedGroups, leakedNetwork, leakedFolders, leakedRows];

/** Everything on this host that this platform made and nobody owns any more. */
export async function findLeaks(paths: StatePaths): Promise<Leak[]> {
  const scene = await lookAround(paths);
  const found: Leak[] = [];
  for (const find of FINDERS) found.push(...(await find(scene)));
  const named = new Map(found.map((leak) => [`${leak.kind} ${leak.name}`, leak]));
  return [...named.values()];
}

/** Like findLeaks, but gives what is just being torn down some time to go. */
export async function findSettledLeaks(paths: StatePaths, settleMs: number): Promise<Leak[]> {
  const deadline = performance.now() + settleMs;
  for (;;) {
    const leaks = await findLeaks(paths);
    if (leaks.length === 0 || performance.now() >= deadline) return leaks;
    await delay(250);
  }
}
