// SPDX-License-Identifier: Apache-2.0
/** Runs what an exec request asks for, in the order of the wire contract (section 5): files first, then command, commands or code. */
import { randomBytes } from "node:crypto";
import { type AgentExit, EXEC_OUTPUT_MAX, EXEC_TIMEOUT_DEFAULT_S, type ExecRequest } from "@collimate/contracts";
import type { RunEnd, RunHow } from "../guest/links.ts";
import type { Sandbox } from "./sandbox.ts";
import { inTurnOf } from "./turns.ts";

export interface OutputSink {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
}

/** The wire contract says -1 for the time limit. */
const codeOf = (end: RunEnd): number => (end.timedOut ? -1 : end.exitCode);

/** Counts what is passed on and drops what is over the cap, per stream. */
class Capped {
  readonly #pass: (chunk: Buffer) => void;
  sent = 0;
  truncated = false;
  constructor(pass: (chunk: Buffer) => void) {
    this.#pass = pass;
  }
  readonly take = (chunk: Buffer): void => {
    const room = EXEC_OUTPUT_MAX - this.sent;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (kept.length < chunk.length) this.truncated = true;
    if (kept.length === 0) return;
    this.sent += kept.length;
    this.#pass(kept);
  };
}

export async function execInSandbox(sandbox: Sandbox, request: ExecRequest, sink: OutputSink, signal: AbortSignal): Promise<AgentExit> {
  sandbox.execCount += 1;
  sandbox.execsRunning += 1;
  sandbox.lastActiveAt = Date.now();
  try {
    return await perform(sandbox, request, sink, signal);
  } finally {
    sandbox.execsRunning -= 1;
    sandbox.lastActiveAt = Date.now();
  }
}

async function perform(sandbox: Sandbox, request: ExecRequest, sink: OutputSink, signal: AbortSignal): Promise<AgentExit> {
  const begun = performance.now();
  const limitMs = (request.timeout_seconds || EXEC_TIMEOUT_DEFAULT_S) * 1_000;
  const seed = request.seed?.toLowerCase();
  const out = new Capped((chunk) => sink.stdout(chunk));
  const err = new Capped((chunk) => sink.stderr(chunk));

  for (const file of request.files ?? []) await sandbox.links.writeFile(file.path, Buffer.from(file.content, "utf8"), inTurnOf(sandbox));

  const parts: NonNullable<AgentExit["parts"]> = [];
  let last: RunEnd = { exitCode: 0, signal: 0, timedOut: false, killedFromOutside: false, seedAck: "off" };
  for (const how of howToRun(request)) {
    const from = { out: out.sent, err: err.sent };
    const leftMs = Math.max(1, limitMs - (performance.now() - begun));
    last = await sandbox.links.run(
      {
        ...how,
        ...(request.env ? { env: request.env } : {}),
        ...placeOf(sandbox, request, how),
        ...(request.stdin === undefined ? {} : { stdin: Buffer.from(request.stdin, "utf8") }),
        timeoutMs: leftMs,
        ...(seed ? { seed } : {}),
      },
      { onStdout: out.take, onStderr: err.take, signal },
    );
    if (request.commands && request.command === undefined)
      parts.push({ exit_code: codeOf(last), stdout_bytes: out.sent - from.out, stderr_bytes: err.sent - from.err });
    if (codeOf(last) !== 0) break;
  }
  if (last.timedOut) err.take(Buffer.from(`timeout after ${limitMs / 1_000}s\n`));
  return {
    t: "x",
    exit_code: codeOf(last),
    exec_time_ms: performance.now() - begun,
    timed_out: last.timedOut,
    oom_killed: last.killedFromOutside && (await ranOutOfMemory(sandbox)),
    signal: last.signal,
    truncated: out.truncated || err.truncated,
    seed: seed ?? randomBytes(32).toString("hex"),
    seed_ack: seed ? last.seedAck : "off",
    ...(parts.length > 0 ? { parts } : {}),
  };
}

/** Whether the kernel has ended a process of this sandbox for memory since the last time asked. */
async function ranOutOfMemory(sandbox: Sandbox): Promise<boolean> {
  const { oomKills } = await sandbox.slot.group.usage();
  const more = oomKills > sandbox.oomKillsSeen;
  sandbox.oomKillsSeen = oomKills;
  return more;
}

/** A command starts in the image's folder as the image's user; a cell where the interpreter stands. */
function placeOf(sandbox: Sandbox, request: ExecRequest, how: RunHow): { cwd?: string; user?: string } {
  if ("code" in how) return request.cwd === undefined ? {} : { cwd: request.cwd };
  return { cwd: request.cwd ?? sandbox.workdir, user: request.user ?? sandbox.user };
}

function howToRun(request: ExecRequest): RunHow[] {
  if (request.command !== undefined) return [{ shell: request.command }];
  if (request.commands) return request.commands.map((argv) => ({ argv }));
  if (request.code !== undefined) return [{ code: request.code }];
  return [];
}
