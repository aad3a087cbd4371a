// SPDX-License-Identifier: Apache-2.0
import { cpus, loadavg, release } from "node:os";
import { quickstart } from "../quickstart/quickstart.ts";
import type { Report } from "../quickstart/report.ts";
import type { StatePaths } from "../state/paths.ts";

const RUNS_MIN = 5;

/** The main job with one problem per run, in the form of the other benchmarks; false when its figures are not to be quoted. */
export async function benchQuickstart(
  paths: StatePaths,
  tools: string,
  flags: { width: number; runs: number; image?: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { width, runs, image } = flags;
  const { report } = await quickstart(paths, { width, problems: runs, image, keep: false, tools }, signal);
  const result = asResult(report, runs);
  process.stdout.write(`${JSON.stringify({ ...result, machine: { cpus: cpus().length, kernel: release(), load: loadavg()[0] ?? 0 } })}\n`);
  return result.ok;
}

interface Figure {
  unit: "s" | "ms" | "MiB";
  median: number;
  samples: number[];
}

/** From the call at the SDK to the last child's first answer, beside cold starts of the same run. */
export function asResult(report: Report, runs: number) {
  const { problems, cold_start: cold } = report;
  const figures = {
    "fork to last first answer": figure(
      "s",
      problems.map((row) => row.fork_seconds),
    ),
    "parent pause": figure(
      "ms",
      problems.map((row) => row.pause_ms),
    ),
    "private memory per child": figure(
      "MiB",
      problems.map((row) => row.private_mib_per_child),
    ),
    "cold start with import and prefix": figure("s", [cold.seconds]),
  };
  const forks = figures["fork to last first answer"].median;
  const memory = figures["private memory per child"];
  const ratio = cold.times_width_seconds / forks;
  const targets = [
    { name: `${report.width} cold starts to ${report.width} forks`, measured: ratio, bound: { atLeast: 10 }, met: ratio >= 10 },
    {
      name: "private memory per child",
      measured: memory.median,
      bound: { atMost: 5 },
      met: memory.samples.length > 0 && memory.median <= 5,
    },
  ];
  const why = [
    ...(problems.length < RUNS_MIN ? [`${problems.length} runs, ${RUNS_MIN} are needed`] : []),
    ...(memory.samples.length < problems.length ? ["private memory was not seen in every run"] : []),
  ];
  return { bench: "quickstart", subject: report.image, n: report.width, runs, figures, targets, ok: why.length === 0, why };
}

function figure(unit: Figure["unit"], seen: readonly (number | null | undefined)[]): Figure {
  const samples = seen.filter((value) => typeof value === "number");
  const sorted = samples.toSorted((a, b) => a - b);
  return { unit, median: sorted[Math.floor(sorted.length / 2)] ?? 0, samples };
}
