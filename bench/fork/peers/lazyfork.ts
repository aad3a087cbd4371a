// SPDX-License-Identifier: Apache-2.0
/** LazyFork: file-mapped forks with stock criu. Its engine runs in a root of its own (it wants Python 3.12), on our criu. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { probe } from "@collimate/criu";
import { z } from "zod";
import type { Laboratory } from "../../engine/laboratory.ts";
import { memoryOf } from "../../measure/process-memory.ts";
import { median, type Samples } from "../../measure/samples.ts";
import type { BenchOptions } from "../../options.ts";
import { askProgram, programOf, untilReady, writeLittle } from "./program.ts";

const INSTALL_LIMIT_MS = 600_000;
const ANSWER_LIMIT_MS = 120_000;

const replySchema = z.object({
  ids: z.array(z.string()).default([]),
  pids: z.array(z.number()).default([]),
  pauseMs: z.number().default(0),
});
type Reply = z.infer<typeof replySchema>;
type Ask =
  | { verb: "create"; command: string[] }
  | { verb: "stop" | "fork"; id: string; count?: number }
  | { verb: "delete"; ids: string[] };

export async function measureLazyFork(
  laboratory: Laboratory,
  options: BenchOptions,
  into: Samples,
  tell: (line: string) => void,
): Promise<void> {
  await using lazyFork = await LazyFork.start(laboratory, options);
  const { ids, pids } = await lazyFork.ask({ verb: "create", command: ["/usr/bin/python3", "-c", programOf(laboratory.subject)] });
  await untilReady(pids[0] ?? 0);
  // Stopped it is what a template is to us: a fork of it dumps nothing.
  const template = ids[0] ?? "";
  await lazyFork.ask({ verb: "stop", id: template });
  for (let run = 1; run <= options.runs; run++) {
    laboratory.throwIfInterrupted();
    tell(`run ${run} of ${options.runs}: LazyFork`);
    await oneRun(laboratory, lazyFork, template, options.width, into);
  }
}

async function oneRun(laboratory: Laboratory, lazyFork: LazyFork, template: string, width: number, into: Samples): Promise<void> {
  const { cpu } = laboratory;
  const parent = await lazyFork.ask({ verb: "fork", id: template, count: 1 });
  await writeLittle(parent.pids[0] ?? 0);
  let children: Reply | undefined;
  const forked = await cpu.of(async () => (children = await lazyFork.ask({ verb: "fork", id: parent.ids[0] ?? "", count: width })));
  const { ids = [], pids = [], pauseMs = 0 } = children ?? {};
  const born = await Promise.all(pids.map((pid) => memoryOf([pid])));
  const answered = await cpu.of(() => Promise.all(pids.map(askProgram)));
  const asked = await Promise.all(pids.map((pid) => memoryOf([pid])));
  into.add("ms", {
    "LazyFork: fork, cpu per child": forked.cpuMs / width,
    "LazyFork: fork and first answer, cpu per child": (forked.cpuMs + answered.cpuMs) / width,
    "LazyFork: call to last child runnable, wall": forked.wallMs,
    "LazyFork: call to last first answer, wall": forked.wallMs + answered.wallMs,
    "LazyFork: parent pause": pauseMs,
  });
  into.add("MiB", {
    "LazyFork: private at birth, per child": median(born.map(({ privateMiB }) => privateMiB)),
    "LazyFork: private after a small answer, per child": median(asked.map(({ privateMiB }) => privateMiB)),
  });
  await lazyFork.ask({ verb: "delete", ids: [...ids, ...parent.ids] });
}

/** Its engine as a child process that takes and gives one line of JSON at a time; its containers end with it. */
class LazyFork implements AsyncDisposable {
  readonly #program: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  readonly #base: string;
  #complaints = "";

  private constructor(program: ChildProcess, lines: AsyncIterator<string>, base: string) {
    this.#program = program;
    this.#lines = lines;
    this.#base = base;
    this.#ended = once(program, "exit");
    program.stderr?.on("data", (chunk: Buffer) => (this.#complaints = (this.#complaints + chunk.toString()).slice(-4_000)));
  }

  static async start(laboratory: Laboratory, { state, tools }: BenchOptions): Promise<LazyFork> {
    const { stdout } = await promisify(execFile)("/bin/bash", [join(import.meta.dirname, "install-lazyfork.sh"), tools], {
      timeout: INSTALL_LIMIT_MS,
      maxBuffer: 2 ** 24,
    });
    const root = stdout.trim().split("\n").at(-1) ?? "";
    const criu = join(tools, "criu", "criu");
    const probed = await probe({ path: criu });
    if (!probed.works) throw new Error(`criu does not work here: ${probed.reason}`);
    const base = await mkdtemp(join(dirname(state), "lazyfork-"));
    const group = `collimate-bench-lazyfork-${process.pid}`;
    laboratory.cpu.include(group);
    const driver = [root, criu, base, await laboratory.imageRoot(), join(import.meta.dirname, "lazyfork.py"), group];
    const program = spawn(
      "unshare",
      ["--mount", "--propagation", "private", "--", "/bin/bash", join(import.meta.dirname, "enter-root.sh"), ...driver],
      {
        stdio: ["pipe", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], ...(probed.program.withoutBreakpoints ? { CRIU_FAULT: "130" } : {}) },
      },
    );
    return new LazyFork(program, createInterface(program.stdout)[Symbol.asyncIterator](), base);
  }

  async ask(ask: Ask): Promise<Reply> {
    this.#program.stdin?.write(`${JSON.stringify(ask)}\n`);
    const late = AbortSignal.timeout(ANSWER_LIMIT_MS);
    const line = await Promise.race([this.#lines.next(), once(late, "abort").then(() => "late" as const)]);
    if (line === "late") throw new Error(`LazyFork has not answered within ${ANSWER_LIMIT_MS / 1000} s`);
    if (line.done === true) await this.#ended; // then all it had to say is there
    if (line.done === true) throw new Error(`LazyFork has ended: ${this.#complaints.trim().split("\n").at(-1) ?? ""}`);
    return replySchema.parse(JSON.parse(line.value));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.stdin?.end();
    const timer = setTimeout(() => this.#program.kill("SIGKILL"), ANSWER_LIMIT_MS);
    await this.#ended;
    clearTimeout(timer);
    await rm(this.#base, { recursive: true, force: true });
  }
}
