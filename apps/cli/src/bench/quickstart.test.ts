// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { reportSchema } from "../quickstart/report.ts";
import { asResult } from "./quickstart.ts";

function report(seconds: number[], cold: number, memory: number | null) {
  const row = (fork_seconds: number) => ({
    title: "HumanEval/0",
    prefix_seconds: 1,
    fork_seconds,
    grade_seconds: 1,
    mean_reward: 0.5,
    pause_ms: 50,
    private_mib_per_child: memory,
    forked_at: 0,
    ended_at: 1,
  });
  return reportSchema.parse({
    client: "sync",
    client_version: "0",
    image: "i",
    width: 64,
    problems: seconds.map(row),
    env: row(1),
    cold_start: { seconds: cold, times_width_seconds: cold * 64 },
    ratio: 1,
    usage: {},
  });
}

test("forks are compared by their median with cold starts of the same run", () => {
  const result = asResult(report([1, 9, 2, 2, 3], 1, 2), 5);
  expect(result.targets[0]).toMatchObject({ measured: 32, met: true });
  expect(result.figures["fork to last first answer"].samples).toEqual([1, 9, 2, 2, 3]);
  expect(result.ok).toBe(true);
});

test("three runs, or memory that nobody saw, are not to be quoted", () => {
  expect(asResult(report([1, 1, 1], 1, 2), 3)).toMatchObject({ ok: false, why: ["3 runs, 5 are needed"] });
  expect(asResult(report([1, 1, 1, 1, 1], 1, null), 5).ok).toBe(false);
});
