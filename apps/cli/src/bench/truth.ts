// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { Complaint } from "../complaint.ts";
import { runToEnd } from "../process/run-logged.ts";
import { repositoryRoot } from "../repository.ts";
import { step } from "../terminal/progress.ts";

/** A thousand forks of a JVM or of Chromium on two cores take most of an hour. */
const LIMIT_MS = 12 * 3_600_000;

const resultSchema = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({
          title: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).default([]),
          meta: z.object({ truth: z.object({ forks: z.int(), complaints: z.array(z.string()) }).optional() }).default({}),
        }),
      ),
    }),
  ),
});

export interface TruthResult {
  bench: "truth";
  /** Asked of each program. */
  forks: number;
  /** A wrong fork found one wrong byte at least: its program ends at the first. */
  programs: { name: string; forks: number; wrong: number; complaints: string[] }[];
  wrong: number;
  ok: boolean;
}

/** The memory programs of tests/truth over many forks each; false when one found a wrong byte or could not be asked. */
export async function benchTruth(tools: string, { forks }: { forks: number }, signal: AbortSignal): Promise<boolean> {
  const root = repositoryRoot();
  const log = join(tools, "logs", "bench-truth.log");
  const report = join(tools, "logs", "bench-truth.report");
  await mkdir(dirname(report), { recursive: true });
  await rm(report, { force: true });
  await step(`bench truth: ${forks} forks of each program`, (progress) =>
    runToEnd({
      name: "bench truth",
      argv: [
        process.execPath,
        join(root, "node_modules", "vitest", "vitest.mjs"),
        "run",
        "memory.test.ts",
        "--reporter=default",
        "--reporter=json",
        `--outputFile.json=${report}`,
      ],
      cwd: join(root, "tests", "truth"),
      env: { ...process.env, COLLIMATE_TOOLS: tools, COLLIMATE_TEST_FULL: "1", COLLIMATE_TRUTH_FORKS: String(forks) },
      log,
      limitMs: LIMIT_MS,
      signal,
      onLine: (line) => progress.note(line),
    }),
  );
  const text = await readFile(report, "utf8").catch(() => undefined);
  if (text === undefined) throw new Complaint("bench truth broke off", { hint: `Its log: ${log}` });
  const result = truthResult(text, forks);
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.ok;
}

/** From the report of vitest's JSON reporter. A program that could not be asked is as bad as one with a wrong byte. */
export function truthResult(report: string, forks: number): TruthResult {
  const tests = resultSchema.parse(JSON.parse(report)).testResults.flatMap(({ assertionResults }) => assertionResults);
  const programs = tests
    .filter(({ status, meta }) => meta.truth !== undefined || status === "failed")
    .map(({ title, meta, failureMessages }) => ({
      name: title,
      forks: meta.truth?.forks ?? 0,
      wrong: meta.truth?.complaints.length ?? 0,
      complaints: meta.truth?.complaints ?? failureMessages,
    }));
  const ok = programs.length > 0 && programs.every(({ forks: asked, complaints }) => asked >= forks && complaints.length === 0);
  return { bench: "truth", forks, programs, wrong: programs.reduce((sum, { wrong }) => sum + wrong, 0), ok };
}
