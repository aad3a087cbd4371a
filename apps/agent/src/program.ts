// SPDX-License-Identifier: Apache-2.0
/** Runs a privileged program under a time limit, never through a shell. It ends with the agent, however that ends. */
import { execa } from "execa";

export interface ProgramResult {
  readonly ok: boolean;
  readonly exitCode: number | undefined;
  readonly timedOut: boolean;
  readonly stdout: string;
  /** The last lines of what it said about itself, cut to a sane length. */
  readonly said: string;
}

const SAID_MAX = 4_000;

/**
 * prctl(2), PR_SET_PDEATHSIG: an agent that is killed must not leave an umoci behind, which goes on writing into the
 * folder that the next agent sweeps.
 */
const DIES_WITH_US = ["--pdeathsig", "KILL", "--"] as const;

interface ProgramOptions {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

export async function runProgram(argv: readonly [string, ...string[]], options: ProgramOptions): Promise<ProgramResult> {
  return resultOf(await execa("setpriv", [...DIES_WITH_US, ...argv], { ...settings(options), stdin: "ignore" }));
}

/** A program that is all but started. Disposing of it before `go` starts nothing. */
export interface PreparedProgram extends AsyncDisposable {
  go(): Promise<ProgramResult>;
}

/** Waits for a line, then becomes the program of its arguments. */
const GATE = 'read -r _ && exec "$@"';

/** For a program whose time counts: forking and starting it is over when `go` is called. The limit counts from now on. */
export function prepareProgram(argv: readonly [string, ...string[]], options: ProgramOptions): PreparedProgram {
  const running = execa("setpriv", [...DIES_WITH_US, "sh", "-c", GATE, "sh", ...argv], { ...settings(options), stdin: "pipe" });
  // It may end before its line is read: its result says so.
  running.stdin.on("error", () => undefined);
  const ended = running.then(resultOf);
  return {
    go: () => {
      running.stdin.end("\n");
      return ended;
    },
    [Symbol.asyncDispose]: async () => {
      running.stdin.end();
      await ended;
    },
  };
}

function settings({ timeoutMs, cwd, signal }: ProgramOptions) {
  return {
    timeout: timeoutMs,
    forceKillAfterDelay: 1_000,
    maxBuffer: 4 * 1024 * 1024,
    reject: false,
    ...(cwd ? { cwd } : {}),
    ...(signal ? { cancelSignal: signal } : {}),
  } as const;
}

function resultOf(result: {
  failed: boolean;
  exitCode?: number | undefined;
  timedOut: boolean;
  stdout: string;
  stderr: string;
  message?: string | undefined;
}): ProgramResult {
  return {
    ok: !result.failed,
    exitCode: result.exitCode,
    timedOut: result.timedOut,
    stdout: result.stdout,
    said: (result.stderr || result.stdout || result.message || "").slice(-SAID_MAX),
  };
}
