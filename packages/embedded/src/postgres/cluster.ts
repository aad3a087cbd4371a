// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { privateDirectory } from "../account.ts";
import type { Account } from "../account.ts";
import { SERVICE_ENV } from "../process/program.ts";

export const SUPERUSER = "collimate";

export interface Cluster {
  data: string;
  password: string;
}

/** The database cluster in a directory, made when there is none yet. A half-made one (a crash in initdb) is made anew. */
export async function openCluster(dir: string, binaries: string, account: Account | undefined): Promise<Cluster> {
  const data = join(dir, "data");
  const passwordFile = join(dir, "password");
  if (
    await stat(data).then(
      () => true,
      () => false,
    )
  ) {
    return { data, password: (await readFile(passwordFile, "utf8")).trim() };
  }
  const password = randomBytes(24).toString("base64url");
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  await initialise(dir, data, password, binaries, account);
  return { data, password };
}

async function initialise(dir: string, data: string, password: string, binaries: string, account: Account | undefined): Promise<void> {
  const fresh = `${data}.new`;
  const passwordCopy = join(dir, "initdb-password");
  await rm(fresh, { recursive: true, force: true });
  await privateDirectory(fresh, account);
  await writeFile(passwordCopy, password, { mode: 0o600 });
  try {
    if (account !== undefined) await chown(passwordCopy, account.uid, account.gid);
    await initdb(binaries, account, [
      "--pgdata",
      fresh,
      "--username",
      SUPERUSER,
      "--pwfile",
      passwordCopy,
      "--auth",
      "scram-sha-256",
      "--encoding",
      "UTF8",
      // Sorted the same on every machine, whatever locales it has.
      "--locale-provider",
      "builtin",
      "--builtin-locale",
      "C.UTF-8",
      "--locale",
      "C",
      "--no-sync",
      "--no-instructions",
    ]);
  } finally {
    await rm(passwordCopy, { force: true });
  }
  await rename(fresh, data);
}

async function initdb(binaries: string, account: Account | undefined, args: string[]): Promise<void> {
  const program = join(binaries, "bin", "initdb");
  const [command, ...rest] =
    account === undefined
      ? [program, ...args]
      : ["/usr/bin/setpriv", "--reuid", String(account.uid), "--regid", String(account.gid), "--clear-groups", "--", program, ...args];
  try {
    await promisify(execFile)(command, rest, { cwd: "/", env: { ...SERVICE_ENV }, timeout: 120_000, killSignal: "SIGKILL" });
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(`initdb failed: ${output}`, { cause: error });
  }
}
