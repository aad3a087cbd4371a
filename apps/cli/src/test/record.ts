// SPDX-License-Identifier: Apache-2.0
import { mkdir } from "node:fs/promises";
import { cpus, release } from "node:os";
import { join } from "node:path";
import { writeJson } from "../state/json-file.ts";
import { statePaths } from "../state/paths.ts";
import type { Suite } from "./suites.ts";
import { sum } from "./tally.ts";
import type { Tally } from "./tally.ts";

interface Ran {
  suite: Suite;
  tally: Tally;
  ms: number;
}

/** What a run with the long counts is remembered by. */
export function recordOf(ran: readonly Ran[], began: Date) {
  return {
    began: began.toISOString(),
    seconds: seconds(ran.reduce((total, { ms }) => total + ms, 0)),
    machine: { cpus: cpus().length, kernel: release() },
    total: sum(ran.map(({ tally }) => tally)),
    suites: ran.map(({ suite, tally, ms }) => ({ suite: suite.name, ...tally, seconds: seconds(ms) })),
  };
}

/** Kept in the state folder, beside what the platform keeps there; gives the file. */
export async function keepRecord(record: ReturnType<typeof recordOf>): Promise<string> {
  const { root } = statePaths();
  await mkdir(root, { recursive: true });
  const file = join(root, "test-full.json");
  await writeJson(file, record);
  return file;
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10;
