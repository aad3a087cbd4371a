// SPDX-License-Identifier: Apache-2.0
import { rm } from "node:fs/promises";
import { RUN_DIRECTORY } from "@collimate/criu";
import { PARTS } from "../platform/parts.ts";
import { undoHostSettings } from "../platform/host-settings.ts";
import { stopParts } from "../platform/start.ts";
import { withStateLock } from "../state/lock.ts";
import { makeStateDirectories } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import { readStateProfile, removeUserProfile } from "../state/profile.ts";
import { describe } from "../doctor/leaks/leak.ts";
import { findLeaks, findSettledLeaks } from "../doctor/leaks/find.ts";
import { runsAnywhere } from "../doctor/leaks/scene.ts";
import { Complaint } from "../complaint.ts";
import { removeLeaks } from "../doctor/leaks/remove.ts";

export interface DownResult {
  stopped: string[];
  settings: string[];
  /** What a crashed part had left and this call removed. */
  swept: string[];
}

/** What was killed may take this long to be gone from every table of the kernel's. */
const SETTLE_MS = 5_000;

/** Stops everything, puts host settings back, and makes sure that nothing is left; purge removes the data too. */
export async function down(paths: StatePaths, purge: boolean): Promise<DownResult> {
  await makeStateDirectories(paths);
  const result = await withStateLock(paths, () => stopAll(paths));
  if (purge) {
    await removeUserProfile(await readStateProfile(paths));
    await rm(paths.root, { recursive: true, force: true });
  }
  return result;
}

async function stopAll(paths: StatePaths): Promise<DownResult> {
  const stopped = await stopParts(PARTS.toReversed(), paths, true);
  const settings = await undoHostSettings(paths);
  // What criu knows of the kernel: kept on tmpfs, and soon found out again.
  if (!(await runsAnywhere(["criu", "collimate-hostd"]))) await rm(RUN_DIRECTORY, { recursive: true, force: true });
  // An agent that was killed could not end its sandboxes: what it left is found by name and removed here.
  const swept = (await removeLeaks(await findLeaks(paths))).map(describe);
  const left = await findSettledLeaks(paths, SETTLE_MS);
  if (left.length > 0) {
    throw new Complaint(`something is left that could not be removed:\n${left.map((leak) => `  ${describe(leak)}`).join("\n")}`);
  }
  return { stopped, settings, swept };
}
