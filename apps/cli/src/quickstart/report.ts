// SPDX-License-Identifier: Apache-2.0
import { z } from "zod";
import { table } from "../terminal/table.ts";
import type { Column } from "../terminal/table.ts";

const amount = z.number().nullish();
const rowSchema = z.looseObject({
  title: z.string(),
  prefix_seconds: z.number(),
  fork_seconds: z.number(),
  grade_seconds: z.number(),
  mean_reward: z.number(),
  pause_ms: amount,
  private_mib_per_child: amount,
  forked_at: z.number(),
  ended_at: z.number(),
});
/** What examples/grpo_quickstart.py writes with --json. */
export const reportSchema = z.looseObject({
  client: z.string(),
  client_version: z.string(),
  image: z.string(),
  width: z.int(),
  problems: z.array(rowSchema).min(1),
  env: rowSchema,
  cold_start: z.object({ seconds: z.number(), times_width_seconds: z.number() }),
  ratio: z.number(),
  usage: z.looseObject({ totals: z.record(z.string(), z.union([z.number(), z.string()])).nullish() }),
});
export type Report = z.infer<typeof reportSchema>;

const COLUMNS: readonly Column[] = [
  { title: "problem" },
  { title: "prefix", align: "right" },
  { title: "fork", align: "right" },
  { title: "grading", align: "right" },
  { title: "mean reward", align: "right" },
  { title: "private memory", align: "right" },
  { title: "parent pause", align: "right" },
];

/** The measurements as a page that a person enjoys reading. */
export function render(report: Report): string {
  const rows = [...report.problems, report.env].map((row) => [
    row.title,
    seconds(row.prefix_seconds),
    seconds(row.fork_seconds),
    seconds(row.grade_seconds),
    row.mean_reward.toFixed(3),
    row.private_mib_per_child == null ? "–" : `${row.private_mib_per_child.toFixed(1)} MiB`,
    row.pause_ms == null ? "–" : `${Math.round(row.pause_ms)} ms`,
  ]);
  const slowest = Math.max(...report.problems.map((row) => row.fork_seconds));
  const { seconds: one, times_width_seconds: all } = report.cold_start;
  const used = Object.entries(report.usage.totals ?? {}).map(([name, value]) => `${name} ${value}`);
  return [
    table(COLUMNS, rows),
    "",
    `${report.width} forks, from the call to the last child's first answer   ${seconds(slowest)} at most`,
    `${report.width} cold starts instead, import and prefix (${seconds(one)} each)   ${seconds(all)}`,
    `forks are quicker by a factor of   ${report.ratio.toFixed(1)}`,
    "",
    `usage  ${used.length === 0 ? "not told" : used.join(", ")}`,
    `client collimate-rl ${report.client_version}`,
    "private memory: what the median child has written itself, as the kernel counts it",
  ].join("\n");
}

function seconds(value: number): string {
  return `${value.toFixed(2)} s`;
}
