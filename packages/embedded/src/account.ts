// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findProgram } from "./process/program.ts";

/** A system account that the data services run as. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root, and the others have no need to. */
const NAME = "collimate-data";

/** The services' account, made on first use; undefined when we are not root (they then run as we do). */
export async function serviceAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (let attempt = 0; attempt < 20; attempt++) {
    const found = await lookUp();
    if (found !== undefined) return found;
    await create();
  }
  throw new Error(`the system account ${NAME} could not be made: see useradd(8)`);
}

async function lookUp(): Promise<Account | undefined> {
  for (const line of (await readFile("/etc/passwd", "utf8")).split("\n")) {
    const [name, , uid, gid] = line.split(":");
    if (name === NAME) return { name, uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** Only one at a time: of two at the same moment, useradd lets the second write over what the first has written. */
const LOCK = "/run/lock/collimate-account";
const LOCK_SECONDS = 30;

async function create(): Promise<void> {
  const [flock, useradd] = await Promise.all([findProgram("flock", "util-linux"), findProgram("useradd", "passwd")]);
  const options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"];
  try {
    await promisify(execFile)(flock, ["--timeout", String(LOCK_SECONDS), LOCK, useradd, ...options, NAME]);
  } catch (error) {
    // 9: somebody else made it in the meantime. 1: the password file is locked by another program. useradd(8).
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== 9 && code !== 1) throw new Error(`the system account ${NAME} could not be made`, { cause: error });
    await delay(100);
  }
}

/**
 * Makes a service's directory. Its account has to pass through all directories above: one that is closed to others (a home
 * directory, a fresh mkdtemp) is told by name, since the service would only say "permission denied".
 */
export async function serviceDirectory(path: string, account: Account | undefined): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o711);
  if (account === undefined) return;
  for (let place = path; place !== "/"; place = dirname(place)) {
    const { mode } = await stat(place);
    if ((mode & 0o001) === 0)
      throw new Error(`${place} is closed to the account ${account.name}: chmod o+x it, or keep the data elsewhere`);
  }
}

/** A directory that only the services' account (or we, when there is none) can enter. */
export async function privateDirectory(path: string, account: Account | undefined): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(path, account.uid, account.gid);
  return path;
}
