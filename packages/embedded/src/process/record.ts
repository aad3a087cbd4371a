// SPDX-License-Identifier: Apache-2.0
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { isAlive } from "./identity.ts";
import type { ProcessIdentity } from "./identity.ts";

/** Writes a pid file that names one process for certain; whole or not at all. */
export async function writeRecord(path: string, identity: ProcessIdentity): Promise<void> {
  const fresh = `${path}.new`;
  await writeFile(fresh, `${JSON.stringify(identity)}\n`, { mode: 0o600 });
  await rename(fresh, path);
}

/** The process that a pid file names, if it still lives. A broken or stale file reads as "none". */
export async function readRecord(path: string): Promise<ProcessIdentity | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  const identity = text === undefined ? undefined : parse(text);
  return identity !== undefined && (await isAlive(identity)) ? identity : undefined;
}

export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
}

function parse(text: string): ProcessIdentity | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (!("pid" in value && "startTime" in value && "bootId" in value)) return undefined;
  const { pid, startTime, bootId } = value;
  if (typeof pid !== "number" || typeof startTime !== "string" || typeof bootId !== "string") return undefined;
  return { pid, startTime, bootId };
}
