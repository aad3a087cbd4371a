// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CriuError } from "./error.ts";
import type { CriuProgram } from "./flags.ts";
import { runCriu } from "./run.ts";

/** What of the kernel matters to us, by criu's names (`criu check --feature NAME`). */
const FEATURES = ["clone3_set_tid", "pagemap_scan", "userns", "timens", "cgroupns", "uffd", "mem_dirty_track", "overlayfs_maps"] as const;
export type Feature = (typeof FEATURES)[number];

/** Without these nothing here works. */
const NEEDED: readonly Feature[] = ["clone3_set_tid", "pagemap_scan", "userns"];
/** Where criu has no notes of an earlier look, it looks at all of the kernel. */
const CHECK_LIMIT_MS = 30_000;
const MINIMUM_VERSION = [4, 2, 1] as const;

export interface ProbeOptions {
  /** Path of the criu to look at. */
  readonly path: string;
  /** For each trial. Default 5,000: criu without working breakpoints hangs until then. */
  readonly limitMs?: number;
  /** Where to put throw-away images. Default the system's directory for temporary files. */
  readonly directory?: string;
}

export type ProbeResult = {
  /** As criu prints it, "4.2.1". Empty when the program does not run. */
  readonly version: string;
  readonly features: Readonly<Record<Feature, boolean>>;
} & (
  | { readonly works: true; readonly program: CriuProgram }
  | {
      readonly works: false;
      /** Why, for people. */
      readonly reason: string;
    }
);

/**
 * Finds out whether and how criu works here, on a process made for it. The
 * answer holds until the machine boots again or criu is replaced; with broken
 * breakpoints it takes up to one limit, so keep it.
 */
export async function probe(options: ProbeOptions): Promise<ProbeResult> {
  const limitMs = options.limitMs ?? 5000;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of exactly these names; fromEntries forgets them
  const none = Object.fromEntries(FEATURES.map((name) => [name, false])) as Record<Feature, boolean>;
  const base: CriuProgram = { path: options.path, withoutBreakpoints: false };

  let version: string;
  try {
    version = parseVersion(await ask(base, ["--version"], limitMs));
  } catch (error) {
    return { works: false, version: "", features: none, reason: reasonOf(error) };
  }
  if (!isNewEnough(version)) {
    const reason = `criu ${version} is older than ${MINIMUM_VERSION.join(".")}`;
    return { works: false, version, features: none, reason };
  }

  const features = { ...none };
  let said = "";
  for (const name of FEATURES) {
    const problem = await problemOf(base, ["check", "--feature", name], CHECK_LIMIT_MS);
    features[name] = problem === undefined;
    if (problem !== undefined && NEEDED.includes(name)) said = problem;
  }
  const missing = NEEDED.filter((name) => !features[name]);
  if (missing.length > 0) {
    return { works: false, version, features, reason: `criu does not find ${missing.join(", ")} in this kernel: ${said}` };
  }

  // criu's own check of breakpoints spares us the wait where it can tell.
  const breakpoints = (await problemOf(base, ["check", "--feature", "breakpoints"], limitMs)) === undefined;
  let reason = "";
  for (const withoutBreakpoints of breakpoints ? [false, true] : [true]) {
    const program = { ...base, withoutBreakpoints };
    const failure = await tryDump(program, limitMs, options.directory ?? tmpdir());
    if (failure === undefined) return { works: true, version, features, program };
    reason = failure;
  }
  return { works: false, version, features, reason };
}

function ask(program: CriuProgram, args: string[], limitMs: number): Promise<string> {
  return runCriu({
    program,
    args,
    limitMs,
    purpose: args.join(" "),
    touchesTree: false,
  });
}

/** Undefined when it succeeds, else what criu says of it: it fails as well where it can't find out. */
async function problemOf(program: CriuProgram, args: string[], limitMs: number): Promise<string | undefined> {
  try {
    await ask(program, args, limitMs);
    return undefined;
  } catch (error) {
    if (!(error instanceof CriuError) || (error.code !== "failed" && error.code !== "timeout")) throw error;
    return [error.message, ...error.log.slice(-3)].join("; ");
  }
}

function parseVersion(text: string): string {
  return /^Version: (\d+(?:\.\d+)*)/m.exec(text)?.[1] ?? "";
}

function isNewEnough(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, least] of MINIMUM_VERSION.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Dumps a sleeping process. Undefined when it worked, else why not. */
async function tryDump(program: CriuProgram, limitMs: number, directory: string): Promise<string | undefined> {
  const images = await mkdtemp(join(directory, "criu-probe-"));
  // A session of its own and nothing open from us, as criu wants it: whoever started us may have left files of another
  // mount namespace open in us, and these are inherited; /dev/null takes their places.
  const highest = Math.max(2, ...(await readdir("/proc/self/fd")).map(Number));
  await using nothing = await open("/dev/null", "r+");
  const sleeper = spawn("sleep", ["3600"], { detached: true, stdio: Array.from({ length: highest + 1 }, () => nothing.fd) });
  const ended = once(sleeper, "exit");
  try {
    await once(sleeper, "spawn");
    await runCriu({
      program,
      args: ["dump", "-t", String(sleeper.pid), "-D", images, "-o", "dump.log", "-v1", "--manage-cgroups=ignore"],
      limitMs,
      log: join(images, "dump.log"),
      purpose: `dump a process on trial ${program.withoutBreakpoints ? "without" : "with"} breakpoints`,
      touchesTree: true,
    });
    return undefined;
  } catch (error) {
    return reasonOf(error);
  } finally {
    sleeper.kill("SIGKILL");
    await ended.catch(() => undefined);
    await rm(images, { recursive: true, force: true });
  }
}
