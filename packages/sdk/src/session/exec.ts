// SPDX-License-Identifier: Apache-2.0
import { ConfigurationError } from "../errors.ts";
import { flag, type Json, number, record, records, text, word } from "../json.ts";
import type { ExecRequest, SeedAck } from "../wire.generated.ts";

/** Exactly one of `command`, `code` and `commands`, or `files` alone. */
export interface ExecOptions {
  /** Run by `sh -c`. */
  readonly command?: string;
  /** Run by the template's interpreter, whose state lives on from exec to exec and is inherited by forks. */
  readonly code?: string;
  /** Argument lists, run in order without a shell; the first that fails ends it. */
  readonly commands?: readonly (readonly string[])[];
  /** Text files written before anything is run; folders are made. */
  readonly files?: readonly { readonly path: string; readonly content: string }[];
  /** Limit of the run, in seconds. Default: the session's. When it is over the run's whole process tree is ended. */
  readonly timeoutSeconds?: number;
  /** 64 hex digits. Default: the session's, if it has one. */
  readonly seed?: string;
  /** Reject unless the server confirms that the seed was applied. */
  readonly requireSeed?: boolean;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** User name or uid inside the sandbox. */
  readonly user?: string;
  /** Text for the program's standard input. Default: closed. */
  readonly stdin?: string;
  /** Ends the wait. The run itself may go on until its own limit. */
  readonly signal?: AbortSignal;
}

/** A run that ended, however it ended: a non-zero exit code is a result, not an error. */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  /** -1 when the time limit ended it. */
  readonly exitCode: number;
  /** Whether it ended with exit code 0. */
  readonly ok: boolean;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  /** Number of the signal that ended it, 0 if none. */
  readonly signal: number;
  /** Whether output over the server's cap was dropped. */
  readonly truncated: boolean;
  /** The seed really used. */
  readonly seed: string;
  /** What the sandbox confirmed: `verified`, `partial`, `off` (not applied) or `no-ack`. */
  readonly seedAck: SeedAck;
  /** Milliseconds; -1 where the server does not say. */
  readonly execTimeMs: number;
  readonly totalTimeMs: number;
  /** Finds the run in the server's log. */
  readonly requestId: string;
  /** One entry per list of `commands` that was started. */
  readonly results: readonly { readonly stdout: string; readonly stderr: string; readonly exitCode: number }[];
  /** The reply as it came. */
  readonly raw: Json;
}

/** @throws {ConfigurationError} when there is nothing to run, or more than one thing. */
export function execBody(options: ExecOptions, timeoutSeconds: number, seed: string | undefined): ExecRequest {
  const programs = [options.command, options.code, options.commands].filter((program) => program !== undefined).length;
  if (programs > 1) throw new ConfigurationError("give one of command, code and commands, not several");
  if (programs === 0 && (options.files ?? []).length === 0)
    throw new ConfigurationError("nothing to run: give command, code, commands or files");
  return {
    ...(options.command === undefined ? {} : { command: options.command }),
    ...(options.code === undefined ? {} : { code: options.code }),
    ...(options.commands === undefined ? {} : { commands: options.commands.map((argv) => [...argv]) }),
    ...(options.files === undefined ? {} : { files: options.files.map(({ path, content }) => ({ path, content })) }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...options.env } }),
    ...(options.user === undefined ? {} : { user: options.user }),
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
    ...(seed === undefined ? {} : { seed }),
    timeout_seconds: timeoutSeconds,
  };
}

export function readExecResult(reply: unknown): ExecResult {
  const json = record(reply);
  // Without an exit code nothing is known of the run, so it is no success.
  const exitCode = number(json, "exit_code", -1);
  return {
    stdout: text(json, "stdout"),
    stderr: text(json, "stderr"),
    exitCode,
    ok: exitCode === 0,
    timedOut: flag(json, "timed_out"),
    oomKilled: flag(json, "oom_killed"),
    signal: number(json, "signal", 0),
    truncated: flag(json, "truncated"),
    seed: text(json, "seed"),
    seedAck: word(json, "seed_ack", ["verified", "partial", "off", "no-ack"], "no-ack"),
    execTimeMs: number(json, "exec_time_ms", -1),
    totalTimeMs: number(json, "total_time_ms", -1),
    requestId: text(json, "id"),
    results: records(json["results"]).map((one) => ({
      stdout: text(one, "stdout"),
      stderr: text(one, "stderr"),
      exitCode: number(one, "exit_code", -1),
    })),
    raw: json,
  };
}
