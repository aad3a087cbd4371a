// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { Complaint } from "../complaint.ts";
import { runToEnd } from "../process/run-logged.ts";
import { repositoryRoot } from "../repository.ts";
import { step } from "../terminal/progress.ts";

export interface BenchFlags {
  subject: "numpy" | "torch";
  width: number;
  runs: number;
  depth: number;
  /** truth: of each program. */
  forks: number;
  through: "engine" | "sdk";
  image?: string;
  json?: boolean;
}

/** The catalog image that has what a subject imports. */
export const CATALOG = { numpy: "python", torch: "pytorch-cpu" } as const;

export interface BenchProgram {
  bench: string;
  tools: string;
  state: string;
  image: string;
  /** host:port of a registry that speaks plain http. */
  insecureRegistry?: string;
  python?: string;
  env?: Readonly<Record<string, string | undefined>>;
}

const LIMIT_MS = 3_600_000;

/** Runs bench/main.ts; false when its figures are not to be quoted. */
export async function runBench(program: BenchProgram, flags: BenchFlags, signal: AbortSignal): Promise<boolean> {
  const { bench, tools, insecureRegistry, python } = program;
  let last = "";
  const log = join(tools, "logs", `bench-${bench}.log`);
  const { code } = await step(`bench ${bench}`, (progress) =>
    runToEnd({
      name: `bench ${bench}`,
      argv: [
        // The engine mounts all day: nobody else shall see it.
        ...(["unshare", "--mount", "--propagation", "private", "--", process.execPath] as const),
        join(repositoryRoot(), "bench", "main.ts"),
        bench,
        `--subject=${flags.subject}`,
        `--through=${flags.through}`,
        `--image=${program.image}`,
        `--state=${program.state}`,
        `--tools=${tools}`,
        `--width=${flags.width}`,
        `--runs=${flags.runs}`,
        `--depth=${flags.depth}`,
        ...(insecureRegistry === undefined ? [] : [`--insecure-registry=${insecureRegistry}`]),
        ...(python === undefined ? [] : [`--python=${python}`]),
      ],
      cwd: "/",
      env: { ...process.env, ...program.env },
      log,
      limitMs: LIMIT_MS,
      signal,
      tell: "program", // the mechanism daemon is in its group, and is needed for the end
      onLine: (line, stream) => {
        if (stream === "stderr") return progress.note(line);
        last = line;
        if (flags.json !== true || line.startsWith("{")) process.stdout.write(`${line}\n`);
      },
    }),
  );
  if (!last.startsWith("{")) throw new Complaint(`bench ${bench} broke off (exit code ${code ?? "none"})`, { hint: `Its log: ${log}` });
  return code === 0;
}
