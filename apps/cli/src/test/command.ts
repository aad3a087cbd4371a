// SPDX-License-Identifier: Apache-2.0
import { Command } from "commander";
import { Complaint } from "../complaint.ts";
import { interruptible } from "../interrupt.ts";
import { repositoryRoot } from "../repository.ts";
import { say, step } from "../terminal/progress.ts";
import { duration } from "../terminal/quantity.ts";
import { table } from "../terminal/table.ts";
import { keepRecord, recordOf } from "./record.ts";
import { runSuite } from "./run-suite.ts";
import type { SuiteResult } from "./run-suite.ts";
import { findSuites } from "./suites.ts";
import type { Suite } from "./suites.ts";
import { NONE, sum } from "./tally.ts";

interface Ran extends SuiteResult {
  suite: Suite;
  ms: number;
}

export function testCommand(): Command {
  return new Command("test")
    .description("run every test; the last line is: N passed, N failed")
    .argument("[filter]", "only suites whose name contains this, e.g. packages/db")
    .option("--full", "with the counts that take long (70 minutes at most), and a record of it in the state folder")
    .action((filter: string | undefined, flags: { full?: boolean }) =>
      interruptible((signal) => test(filter, flags.full === true, signal)),
    );
}

/** The long counts belong to one sitting: what has not begun by then fails. */
const FULL_LIMIT_MS = 70 * 60_000;
const SUITE_LIMIT_MS = 30 * 60_000;

function limitOf(full: boolean, deadline: number): number {
  const left = Math.max(1, deadline - performance.now());
  return full ? left : SUITE_LIMIT_MS;
}

async function test(filter: string | undefined, full: boolean, signal: AbortSignal): Promise<void> {
  const root = repositoryRoot();
  const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
  const suites = (await findSuites(root)).filter((suite) => filter === undefined || suite.name.includes(filter));
  if (suites.length === 0) throw new Complaint(`no suite is called like "${filter}"`);

  const ran: Ran[] = [];
  const started = new Date();
  const deadline = performance.now() + FULL_LIMIT_MS;
  // One after another: each may use the whole machine.
  for (const suite of suites) {
    const began = performance.now();
    const result = await step(suite.name, (progress) =>
      runSuite(suite, { root, tools, full, limitMs: limitOf(full, deadline), progress, signal }).catch((error: unknown) =>
        couldNotRun(error, signal),
      ),
    );
    ran.push({ suite, ...result, ms: performance.now() - began });
    if (result.tail !== "") say(`\n${indented(result.tail)}\n\n    The whole log: ${result.log}\n`);
  }
  if (full) {
    const record = recordOf(ran, started);
    say(`The record: ${await keepRecord(record)}`);
    process.stdout.write(`${JSON.stringify(record)}\n`);
  }
  process.stdout.write(summary(ran));
  if (sum(ran.map(({ tally }) => tally)).failed > 0) process.exitCode = 1;
}

function couldNotRun(error: unknown, signal: AbortSignal): SuiteResult {
  signal.throwIfAborted();
  return { tally: { ...NONE, failed: 1 }, log: "(none)", tail: error instanceof Error ? error.message : String(error) };
}

/** A table of the suites; the last line is for programs that read it. */
export function summary(ran: readonly Pick<Ran, "suite" | "tally" | "ms">[]): string {
  const total = sum(ran.map(({ tally }) => tally));
  const rows = ran.map(({ suite, tally, ms }) => [
    suite.name,
    String(tally.passed),
    String(tally.failed),
    String(tally.skipped),
    duration(ms),
  ]);
  const columns = [{ title: "suite" }, ...["passed", "failed", "skipped", "time"].map((title) => ({ title, align: "right" as const }))];
  return `\n${table(columns, rows)}\n\n${total.passed} passed, ${total.failed} failed\n`;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
}
