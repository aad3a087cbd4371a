// SPDX-License-Identifier: Apache-2.0
/** The reply of an exec (wire contract, section 5). */
import type { AgentExit, ExecReply } from "@collimate/contracts";
import { textOf } from "./output.ts";

export interface ExecTimes {
  readonly forkTimeMs: number;
  readonly totalTimeMs: number;
}

export function renderExec(id: string, exit: AgentExit, stdout: Buffer, stderr: Buffer, times: ExecTimes): ExecReply {
  const results = partsOf(exit, stdout, stderr);
  return {
    id,
    stdout: textOf(stdout, exit.truncated),
    stderr: textOf(stderr, exit.truncated) + (exit.oom_killed ? "killed: out of memory\n" : ""),
    exit_code: exit.exit_code,
    fork_time_ms: times.forkTimeMs,
    exec_time_ms: exit.exec_time_ms,
    total_time_ms: times.totalTimeMs,
    seed: exit.seed,
    seed_ack: exit.seed_ack,
    timed_out: exit.timed_out,
    oom_killed: exit.oom_killed,
    signal: exit.signal,
    truncated: exit.truncated,
    ...(results ? { results } : {}),
  };
}

function partsOf(exit: AgentExit, stdout: Buffer, stderr: Buffer): ExecReply["results"] {
  let out = 0;
  let err = 0;
  return exit.parts?.map((part) => ({
    stdout: textOf(stdout.subarray(out, (out += part.stdout_bytes)), exit.truncated),
    stderr: textOf(stderr.subarray(err, (err += part.stderr_bytes)), exit.truncated),
    exit_code: part.exit_code,
  }));
}
