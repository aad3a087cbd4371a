// SPDX-License-Identifier: Apache-2.0
import { migrate } from "@collimate/db";
import { findLeaks } from "../doctor/leaks/find.ts";
import { removeLeaks } from "../doctor/leaks/remove.ts";
import type { Part, StartContext, UpOptions } from "../platform/part.ts";
import { PARTS } from "../platform/parts.ts";
import { startParts } from "../platform/start.ts";
import { withStateLock } from "../state/lock.ts";
import { makeStateDirectories } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import type { Profile } from "../state/profile.ts";
import { step } from "../terminal/progress.ts";
import { ensureFirstKey } from "./first-key.ts";

export interface UpResult {
  profile: Profile;
  /** The parts that this call started; empty when all ran already. */
  started: string[];
}

/** Starts the platform, or what is missing of it. All or nothing: what it started is stopped when a later part fails. */
export async function up(paths: StatePaths, options: UpOptions, signal?: AbortSignal): Promise<UpResult> {
  await makeStateDirectories(paths);
  return withStateLock(paths, () => startPlatform(paths, options, signal));
}

async function startPlatform(paths: StatePaths, options: UpOptions, signal: AbortSignal | undefined): Promise<UpResult> {
  let profile: Profile | undefined;
  const after = async (part: Part, context: StartContext): Promise<void> => {
    if (part.name === "postgres") await migrateDatabase(context);
    // The last part: a key that cannot be made is a failed start too.
    if (part === PARTS.at(-1)) profile = await ensureFirstKey(context);
  };
  const started = await startParts(PARTS, paths, options, after, signal).catch(async (error: unknown) => {
    // An agent that dies while it starts cannot clean up after itself.
    await removeLeaks(await findLeaks(paths));
    throw error;
  });
  if (profile === undefined) throw new Error("no part was looked at");
  return { profile, started };
}

async function migrateDatabase({ endpoints }: StartContext): Promise<void> {
  const url = endpoints["postgres"]?.url;
  if (url === undefined) throw new Error("postgres is not started");
  await step("database schema", () => migrate(url));
}
