// SPDX-License-Identifier: Apache-2.0
/** `bench fork --through sdk`: the live fork on a whole platform that runs, from the call at the Python SDK. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { INSIDE, insideSchema, isolationToldBy, type Isolation } from "../engine/isolation.ts";
import { Samples } from "../measure/samples.ts";
import type { BenchOptions } from "../options.ts";
import type { Measured } from "../report/result.ts";
import { ANSWER, subjectOf } from "../subject.ts";

const runSchema = z.object({
  forkMs: z.number(),
  answeredMs: z.number(),
  agentMs: z.number(),
  pauseMs: z.number(),
  inside: z.tuple([insideSchema, insideSchema]),
});

export async function benchForkAtSdk(options: BenchOptions, signal: AbortSignal, tell: (line: string) => void): Promise<Measured> {
  const { width, runs } = options;
  const subject = subjectOf(options.subject);
  const what = {
    name: `bench-fork-${subject.name}`,
    image: options.image,
    width,
    runs,
    build: subject.build,
    write: subject.writeLittle,
    ask: subject.ask,
    answer: ANSWER,
    inside: INSIDE,
  };
  const samples = new Samples();
  let isolation: Isolation = {};
  let run = 0;
  for await (const line of linesOf(options.python, what, signal)) {
    const seen = runSchema.parse(JSON.parse(line));
    tell(run === 0 ? "a first run, not counted" : `run ${run} of ${runs}`);
    if (run++ === 0) continue;
    samples.add("ms", {
      "at the SDK: call to last first answer, wall": seen.answeredMs,
      "at the SDK: call to the group, wall": seen.forkMs,
      "at the agent: fork": seen.agentMs,
      "parent pause": seen.pauseMs,
    });
    const on = await isolationToldBy(...seen.inside);
    isolation = Object.fromEntries(Object.entries(on).map(([name, is]) => [name, is && (isolation[name] ?? true)]));
  }
  const name = "at the SDK: call to last first answer, wall";
  return {
    bench: "fork",
    subject: `${subject.name}, through the SDK`,
    n: width,
    runs,
    isolation,
    figures: samples.figures(),
    // For torch only the time at the agent has a target.
    targets: subject.name === "numpy" ? [{ name, measured: samples.median(name), bound: { atMost: 750 } }] : [],
    skipped: [],
    notes: ["PostgreSQL, Redis, api, scheduler, agent and the Python SDK share the machine; 1 MB written before each fork"],
  };
}

async function* linesOf(python: string, what: object, signal: AbortSignal): AsyncGenerator<string> {
  const program = spawn(python, [join(import.meta.dirname, "fork.py")], {
    stdio: ["pipe", "pipe", "inherit"],
    signal,
    killSignal: "SIGINT",
  });
  const ended = once(program, "close");
  program.stdin.end(JSON.stringify(what));
  yield* createInterface(program.stdout);
  await ended;
  if (program.exitCode !== 0) throw new Error(`the program that forks ended with exit code ${program.exitCode ?? "none"}`);
}
