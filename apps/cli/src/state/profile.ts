// SPDX-License-Identifier: Apache-2.0
import { chown, mkdir, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readJson, writeJson } from "./json-file.ts";
import type { StatePaths } from "./paths.ts";

const profileSchema = z.object({ url: z.url(), apiKey: z.string().min(1) });
/** Where the platform is and with which key: what our SDKs look for. */
export type Profile = z.infer<typeof profileSchema>;

/** The platform's own copy: says which key `up` made. */
export function readStateProfile(paths: StatePaths): Promise<Profile | undefined> {
  return readJson(paths.profile, profileSchema);
}

/** The profile of the person at the keyboard, who may have come through sudo. */
export async function readUserProfile(): Promise<Profile | undefined> {
  return readJson((await userProfile()).path, profileSchema);
}

export async function writeProfiles(paths: StatePaths, profile: Profile): Promise<void> {
  await writeJson(paths.profile, profile);
  const user = await userProfile();
  await mkdir(dirname(user.path), { recursive: true, mode: 0o700 });
  await writeJson(user.path, profile);
  if (user.owner !== undefined) {
    await chown(dirname(user.path), user.owner.uid, user.owner.gid);
    await chown(user.path, user.owner.uid, user.owner.gid);
  }
}

/** Forgets the user's profile when it is this platform's. */
export async function removeUserProfile(mine: Profile | undefined): Promise<void> {
  const { path } = await userProfile();
  const found = await readJson(path, profileSchema).catch(() => undefined);
  if (mine !== undefined && found?.apiKey === mine.apiKey) await rm(path, { force: true });
}

async function userProfile(): Promise<{ path: string; owner?: { uid: number; gid: number } }> {
  const named = process.env["COLLIMATE_PROFILE"];
  if (named !== undefined && named !== "") return { path: named };
  const owner = await sudoUser();
  const home = owner?.home ?? homedir();
  return { path: join(home, ".config", "collimate", "profile.json"), ...(owner === undefined ? {} : { owner }) };
}

/** Who called sudo, when we are root because of it. */
async function sudoUser(): Promise<{ uid: number; gid: number; home: string } | undefined> {
  const uid = process.env["SUDO_UID"];
  if (process.getuid?.() !== 0 || uid === undefined || uid === "0") return undefined;
  for (const line of (await readFile("/etc/passwd", "utf8")).split("\n")) {
    const [, , lineUid, gid, , home] = line.split(":");
    if (lineUid === uid && gid !== undefined && home !== undefined && home !== "") return { uid: Number(uid), gid: Number(gid), home };
  }
  return undefined;
}
