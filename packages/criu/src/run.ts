// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { Duplex } from "node:stream";
import { CriuError } from "./error.ts";
import { type CriuProgram, programEnvironment, RUN_DIRECTORY } from "./flags.ts";
import { meaningfulLines, readMeaningfulLines } from "./log.ts";

const STDERR_BYTES = 16_384;

export interface Run {
  readonly program: CriuProgram;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** After this time criu is killed. */
  readonly limitMs: number;
  /** Absolute path of the log that `args` name, to quote on failure. */
  readonly log?: string;
  /** What criu was to do, for messages: "dump process 12". */
  readonly purpose: string;
  /** Whether a killed criu leaves its code in somebody's tasks. */
  readonly touchesTree: boolean;
  readonly signal?: AbortSignal;
  /** criu asks at some stages, one letter each, and waits for `take`: it is told by `variable` on which of its descriptors. */
  readonly turns?: { readonly variable: string; readonly take: (stage: string) => Promise<void> };
}

const TURN_FD = 3;

export async function prepareRunDirectory(): Promise<void> {
  await mkdir(RUN_DIRECTORY, { recursive: true, mode: 0o700 });
  await chmod(RUN_DIRECTORY, 0o700);
}

function childrenOf(pid: number | undefined): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended by itself
  }
}

/** Takes each turn that criu asks for, and answers. Rejects with what a turn rejected with; criu, unanswered, gives up. */
async function takeTurns(stream: unknown, take: (stage: string) => Promise<void>): Promise<void> {
  if (!(stream instanceof Duplex)) throw new TypeError("criu was started without a descriptor for the turns");
  // Leaving the loop, by an error too, destroys the stream.
  for await (const stages of stream.setEncoding("latin1")) {
    for (const stage of String(stages)) await take(stage);
    stream.write(".");
  }
}

/** Runs criu to its end and answers what it wrote on stdout. Never lets it live longer than the limit. */
export async function runCriu(run: Run): Promise<string> {
  await prepareRunDirectory();
  const started = performance.now();
  const child = spawn(run.program.path, [...run.args], {
    env: { ...programEnvironment(run.program), ...run.env, ...(run.turns ? { [run.turns.variable]: String(TURN_FD) } : {}) },
    stdio: run.turns ? ["ignore", "pipe", "pipe", "pipe"] : ["ignore", "pipe", "pipe"],
  });
  const { stdout: out, stderr: err } = child;
  if (!out || !err) throw new TypeError("criu was started without pipes");
  const turns = run.turns && takeTurns(child.stdio[TURN_FD], run.turns.take);
  // Looked at when criu has ended, not before.
  turns?.catch(() => undefined);
  let stdout = "";
  let stderr = "";
  out.setEncoding("utf8").on("data", (text: string) => {
    stdout = (stdout + text).slice(-STDERR_BYTES);
  });
  err.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-STDERR_BYTES);
  });

  let killed: "timeout" | "aborted" | undefined;
  const kill = (why: "timeout" | "aborted") => {
    if (killed !== undefined) return;
    killed = why;
    // What criu has made goes with it: a restored tree, and the process that a dump tries the kernel's ptrace on, which
    // would sleep for ever. A tree that is dumped is traced by criu, no child of it.
    const children = childrenOf(child.pid);
    child.kill("SIGKILL");
    for (const pid of children) killIfThere(pid);
  };
  const timer = setTimeout(kill, run.limitMs, "timeout");
  const onAbort = () => kill("aborted");
  if (run.signal?.aborted) onAbort();
  run.signal?.addEventListener("abort", onAbort, { once: true });

  let code: number | null;
  let signal: NodeJS.Signals | null;
  try {
    // "exit", not "close": processes that criu has restored may hold the pipes.
    [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
    });
  } catch (cause) {
    throw new CriuError("not-started", `can't start ${run.program.path}`, { cause });
  } finally {
    clearTimeout(timer);
    run.signal?.removeEventListener("abort", onAbort);
    out.destroy();
    err.destroy();
  }
  if (turns) await turns;
  if (code === 0) return stdout;

  const fromFile = run.log === undefined ? [] : await readMeaningfulLines(run.log);
  const log = fromFile.length > 0 ? fromFile : meaningfulLines(stderr);
  if (killed !== undefined) {
    const ms = Math.round(performance.now() - started);
    throw new CriuError(killed, `criu was killed after ${ms} ms: could not ${run.purpose}`, {
      log,
      treeDamaged: run.touchesTree,
    });
  }
  throw new CriuError("failed", `criu could not ${run.purpose} (${signal ?? `exit code ${code}`})`, {
    log,
    treeDamaged: signal !== null && run.touchesTree,
  });
}
