// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { tailOf } from "@collimate/embedded";
import { Complaint } from "../complaint.ts";

export interface LoggedRun {
  /** Shown in messages. */
  name: string;
  argv: readonly [string, ...string[]];
  cwd: string;
  /** The whole environment; default: ours. */
  env?: Readonly<Record<string, string | undefined>>;
  /** All output goes there, as it comes. Written anew. */
  log: string;
  /** Called with each line of both streams. */
  onLine?: (line: string, stream: "stdout" | "stderr") => void;
  signal?: AbortSignal;
  /** Who is told to end first: the whole group, or, where a program ends what it has started itself, that program alone. */
  tell?: "group" | "program";
  /** Ended, with all that it started, after this long. */
  limitMs: number;
}

export interface RunEnd {
  /** 128 + the signal's number is not used: a killed program has the code null. */
  code: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
}

/** How long a program that was told to end may take before it is killed. */
const GRACE_MS = 10_000;

/** Runs a program to its end with its output in a log. When the signal fires, its whole process group is ended first. */
export async function runToEnd(run: LoggedRun): Promise<RunEnd> {
  run.signal?.throwIfAborted();
  await mkdir(dirname(run.log), { recursive: true });
  const log = createWriteStream(run.log);
  const [program, ...args] = run.argv;
  // A process group of its own: a terminal's Ctrl-C reaches only us, and we end the group whole.
  const child = spawn(program, args, {
    cwd: run.cwd,
    env: { ...(run.env ?? process.env) },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  const ending = new GroupEnding(child.pid, run.tell ?? "group");
  const timer = setTimeout(() => ending.begin("time"), run.limitMs);
  const abort = (): void => ending.begin("abort");
  run.signal?.addEventListener("abort", abort, { once: true });
  try {
    follow(child.stdout, "stdout", log, run.onLine);
    follow(child.stderr, "stderr", log, run.onLine);
    await closed;
    run.signal?.throwIfAborted();
    return { code: child.exitCode, signal: child.signalCode, timedOut: ending.why === "time" };
  } finally {
    clearTimeout(timer);
    run.signal?.removeEventListener("abort", abort);
    ending.finish();
    log.end();
    await once(log, "close").catch(() => undefined);
  }
}

/** Like runToEnd, but anything else than success is a complaint that shows the end of the log. */
export async function runLogged(run: LoggedRun): Promise<void> {
  const { code, signal, timedOut } = await runToEnd(run);
  if (code === 0) return;
  const how = timedOut ? `took longer than ${run.limitMs / 1_000} s` : `failed (${signal ?? `exit code ${code}`})`;
  throw new Complaint(`${run.name} ${how}. The last lines of its log:\n\n${await tailOf(run.log)}\n`, {
    hint: `The whole log: ${run.log}`,
  });
}

function follow(stream: Readable, name: "stdout" | "stderr", log: NodeJS.WritableStream, onLine: LoggedRun["onLine"]): void {
  stream.pipe(log, { end: false });
  if (onLine !== undefined) createInterface({ input: stream }).on("line", (line) => onLine(line, name));
}

/** Ends a process group: politely, then not. */
class GroupEnding {
  why: "time" | "abort" | undefined;
  readonly #group: number | undefined;
  readonly #tell: "group" | "program";
  #timer: NodeJS.Timeout | undefined;

  constructor(group: number | undefined, tell: "group" | "program") {
    this.#group = group;
    this.#tell = tell;
  }

  begin(why: "time" | "abort"): void {
    if (this.why !== undefined) return;
    this.why = why;
    this.#send("SIGTERM", this.#tell);
    this.#timer = setTimeout(() => this.#send("SIGKILL"), GRACE_MS);
  }

  /** The program has gone; what it started in its group and left goes too. */
  finish(): void {
    clearTimeout(this.#timer);
    this.#send("SIGKILL");
  }

  #send(signal: NodeJS.Signals, to: "group" | "program" = "group"): void {
    if (this.#group === undefined) return;
    try {
      process.kill(to === "group" ? -this.#group : this.#group, signal);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }
}
