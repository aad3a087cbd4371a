// SPDX-License-Identifier: Apache-2.0
/** What a benchmark says in the end: one JSON object, the last line of its standard output. */
import type { Isolation } from "../engine/isolation.ts";
import type { Figure } from "../measure/samples.ts";

/** Fewer say nothing about a median. */
export const RUNS_MIN = 5;

export interface Target {
  /** A figure's name, or words for a comparison of two. */
  readonly name: string;
  readonly measured: number;
  readonly bound: { readonly atMost: number } | { readonly atLeast: number };
}

export interface Skipped {
  readonly way: string;
  readonly why: string;
}

export interface Measured {
  readonly bench: string;
  readonly subject: string;
  /** Children of a fork, or repetitions within a run. */
  readonly n: number;
  readonly runs: number;
  readonly isolation: Isolation;
  readonly figures: Readonly<Record<string, Figure>>;
  /** Of medians of this run. */
  readonly ratios?: Readonly<Record<string, number>>;
  readonly targets: readonly Target[];
  readonly skipped: readonly Skipped[];
  /** What a reader must know to take the figures for what they are. */
  readonly notes: readonly string[];
}

export interface Result extends Measured {
  readonly machine: { readonly cpus: number; readonly kernel: string; readonly load: number };
  /** Whether the figures may be quoted at all; whether they are good is the targets' business. */
  readonly ok: boolean;
  readonly why: readonly string[];
}

export function isMet(target: Target): boolean {
  return "atMost" in target.bound ? target.measured <= target.bound.atMost : target.measured >= target.bound.atLeast;
}

export function judge(measured: Measured, machine: Result["machine"]): Result {
  const off = Object.entries(measured.isolation).filter(([, on]) => !on);
  const few = Object.entries(measured.figures)
    .filter(([, { samples }]) => samples.length < RUNS_MIN)
    .map(([name]) => name);
  const why = [
    ...(Object.keys(measured.isolation).length === 0 ? ["isolation was not looked at"] : []),
    ...off.map(([name]) => `isolation is off: ${name}`),
    ...(measured.runs < RUNS_MIN ? [`${measured.runs} runs, ${RUNS_MIN} are needed`] : []),
    ...(measured.runs >= RUNS_MIN && few.length > 0 ? [`fewer than ${RUNS_MIN} samples: ${few.join(", ")}`] : []),
  ];
  return { ...measured, machine, ok: why.length === 0, why };
}

/** For people: figures with their spread, then targets. */
export function render(result: Result): string {
  const figures = Object.entries(result.figures).map(([name, { unit, median, samples }]) => {
    const spread = `${Math.min(...samples).toFixed(2)} to ${Math.max(...samples).toFixed(2)}`;
    return `  ${name.padEnd(52)} ${median.toFixed(2).padStart(10)} ${unit.padEnd(6)} (${spread}, ${samples.length} samples)`;
  });
  const ratios = Object.entries(result.ratios ?? {}).map(([name, value]) => `  ${name.padEnd(52)} ${value.toFixed(2).padStart(10)} ratio`);
  const targets = result.targets.map((target) => {
    const words = "atMost" in target.bound ? `at most ${target.bound.atMost}` : `at least ${target.bound.atLeast}`;
    return `  ${isMet(target) ? "✓" : "✗"} ${target.name}: ${target.measured.toFixed(2)} (${words})`;
  });
  const skipped = result.skipped.map(({ way, why }) => `  – ${way} skipped: ${why}`);
  return [
    `${result.bench}, ${result.subject}, n = ${result.n}, ${result.runs} runs`,
    ...figures,
    ...ratios,
    ...targets,
    ...skipped,
    ...result.why.map((line) => `  ✗ not to be quoted: ${line}`),
  ].join("\n");
}

export function lastLine(result: Result): string {
  return JSON.stringify({ ...result, targets: result.targets.map((target) => ({ ...target, met: isMet(target) })) });
}
