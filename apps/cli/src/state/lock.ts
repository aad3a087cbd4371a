// SPDX-License-Identifier: Apache-2.0
import { link, rm, writeFile } from "node:fs/promises";
import { identify, readRecord } from "@collimate/embedded";
import { Complaint } from "../complaint.ts";
import type { StatePaths } from "./paths.ts";

/** Only one command at a time changes what runs. The lock of a command that died is taken over. */
export async function withStateLock<T>(paths: StatePaths, work: () => Promise<T>): Promise<T> {
  await takeLock(paths);
  try {
    return await work();
  } finally {
    await rm(paths.lock, { force: true });
  }
}

async function takeLock(paths: StatePaths): Promise<void> {
  const self = await identify(process.pid);
  const draft = `${paths.lock}.${process.pid}`;
  await writeFile(draft, JSON.stringify(self), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      // link(2) makes the lock appear whole and only if there is none.
      if (await link(draft, paths.lock).then(() => true, alreadyThere)) return;
      const holder = await readRecord(paths.lock);
      if (holder !== undefined) {
        throw new Complaint(`another collimate command (pid ${holder.pid}) is starting or stopping this platform`, {
          hint: "Wait for it to end.",
        });
      }
      await rm(paths.lock, { force: true });
    }
    throw new Complaint(`${paths.lock} could not be taken`);
  } finally {
    await rm(draft, { force: true });
  }
}

function alreadyThere(error: unknown): false {
  if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
  throw error;
}
