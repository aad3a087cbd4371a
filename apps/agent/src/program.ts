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

export async function runProgram(
  argv: readonly [string, ...string[]],
  options: { timeoutMs: number; cwd?: string; signal?: AbortSignal },
): Promise<ProgramResult> {
  const result = await execa("setpriv", [...DIES_WITH_US, ...argv], {
    timeout: options.timeoutMs,
    forceKillAfterDelay: 1_000,
    maxBuffer: 4 * 1024 * 1024,
    reject: false,
    stdin: "ignore",
    ...(options.cwd ? { cwd: options.cwd } : {}),
    ...(options.signal ? { cancelSignal: options.signal } : {}),
  });
  return {
    ok: !result.failed,
    exitCode: result.exitCode,
    timedOut: result.timedOut,
    stdout: result.stdout,
    said: (result.stderr || result.stdout || result.message || "").slice(-SAID_MAX),
  };
}
