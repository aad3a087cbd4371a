// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { CriuError } from "./error.ts";
import { type CriuProgram, commonFlags, type TreeOptions } from "./flags.ts";
import { runCriu } from "./run.ts";

export interface RestoreOptions {
  readonly program: CriuProgram;
  readonly tree: TreeOptions;
  readonly images: string;
  /** Mount point of the tree's root file system. */
  readonly root: string;
  /** Directory for log, pid file and statistics of this restore. */
  readonly work: string;
  /** Default 60,000. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Restores a tree the ordinary way, without a holder: slow, with memory of its
 * own, and with the ids that it was dumped with.
 *
 * @returns the host pid of the tree's first process
 */
export async function restore(options: RestoreOptions): Promise<number> {
  const { program, tree, work } = options;
  const pidfile = join(work, "pid");
  await mkdir(work, { recursive: true, mode: 0o700 });
  await rm(pidfile, { force: true });
  await runCriu({
    program,
    args: [
      "restore",
      "-d",
      "-D",
      options.images,
      "-W",
      work,
      "-o",
      "restore.log",
      "--pidfile",
      pidfile,
      "--root",
      options.root,
      ...commonFlags(program, tree),
      ...tcpFlags(tree),
    ],
    limitMs: options.limitMs ?? 60_000,
    log: join(work, "restore.log"),
    purpose: `restore ${options.images}`,
    touchesTree: false,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const pid = Number(await readFile(pidfile, "utf8"));
  if (!Number.isSafeInteger(pid) || pid <= 0) throw new CriuError("failed", `criu wrote no pid into ${pidfile}`);
  return pid;
}

export function tcpFlags(tree: TreeOptions): string[] {
  return ["--tcp-established", ...(tree.tcp === "close" ? ["--tcp-close"] : [])];
}
