// SPDX-License-Identifier: Apache-2.0
/** From what the node sent to what the client reads (wire contract, section 5). */
import type { AgentExit, ExecReply } from "@collimate/contracts";
import { textOf } from "./output.ts";
import type { OutputStream } from "./output.ts";

export interface ExecTimes {
  readonly forkTimeMs: number;
  readonly totalTimeMs: number;
}

/** A line of its own at the end of stderr: graders score the last line of stdout, so nothing is ever put there. */
function withNote(stderr: string, note: string): string {
  return note === "" ? stderr : `${stderr}${stderr === "" || stderr.endsWith("\n") ? "" : "\n"}${note}\n`;
}

function noteOf(exit: AgentExit, timeoutSeconds: number): string {
  if (exit.timed_out) return `timeout after ${timeoutSeconds}s`;
  return exit.oom_killed ? "killed: out of memory" : "";
}

function partsOf(exit: AgentExit, stdout: Buffer, stderr: Buffer): ExecReply["results"] {
  let out = 0;
  let err = 0;
  return exit.parts?.map((part) => ({
    stdout: textOf(stdout.subarray(out, (out += part.stdout_bytes)), out >= stdout.length && exit.truncated),
    stderr: textOf(stderr.subarray(err, (err += part.stderr_bytes)), err >= stderr.length && exit.truncated),
    exit_code: part.exit_code,
  }));
}

export function renderExec(
  id: string,
  exit: AgentExit,
  stdout: OutputStream,
  stderr: OutputStream,
  timeoutSeconds: number,
  times: ExecTimes,
): ExecReply {
  const truncated = exit.truncated || stdout.truncated || stderr.truncated;
  const results = partsOf(exit, stdout.bytes(), stderr.bytes());
  return {
    id,
    stdout: textOf(stdout.bytes(), truncated),
    stderr: withNote(textOf(stderr.bytes(), truncated), noteOf(exit, timeoutSeconds)),
    exit_code: exit.timed_out ? -1 : exit.exit_code,
    fork_time_ms: times.forkTimeMs,
    exec_time_ms: exit.exec_time_ms,
    total_time_ms: times.totalTimeMs,
    seed: exit.seed,
    seed_ack: exit.seed_ack,
    timed_out: exit.timed_out,
    oom_killed: exit.oom_killed,
    signal: exit.signal,
    truncated,
    ...(results ? { results } : {}),
  };
}
