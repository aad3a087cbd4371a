// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { summary } from "./command.ts";
import { recordOf } from "./record.ts";
import { junitTally, vitestTally } from "./results.ts";
import { judged, NONE } from "./tally.ts";

test("vitest's report is counted by test", () => {
  const report = { numTotalTests: 9, numPassedTests: 5, numFailedTests: 2, numPendingTests: 1, numTodoTests: 1, success: false };
  expect(vitestTally(JSON.stringify(report))).toEqual({ passed: 5, failed: 2, skipped: 2 });
});

test("an error in a pytest fixture is a failure", () => {
  const xml =
    '<?xml version="1.0"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10" time="1.2"><testcase/></testsuite></testsuites>';
  expect(junitTally(xml)).toEqual({ passed: 4, failed: 3, skipped: 3 });
});

test("a suite that crashed without a failing test is one failure, not a success", () => {
  expect(judged({ ...NONE, passed: 7 }, false)).toEqual({ passed: 7, failed: 1, skipped: 0 });
  expect(judged({ passed: 7, failed: 2, skipped: 0 }, false).failed).toBe(2);
});

test("a full run's record names every suite with its counts and how long it took", () => {
  const suite = { name: "packages/a", kind: "vitest" as const, directory: "/" };
  const record = recordOf([{ suite, tally: { passed: 3, failed: 1, skipped: 0 }, ms: 61_240 }], new Date(0));
  expect(record).toMatchObject({
    began: "1970-01-01T00:00:00.000Z",
    seconds: 61.2,
    total: { passed: 3, failed: 1, skipped: 0 },
    suites: [{ suite: "packages/a", passed: 3, failed: 1, skipped: 0, seconds: 61.2 }],
  });
});

test("the last line is for programs: N passed, N failed", () => {
  const suite = (name: string) => ({ name, kind: "vitest" as const, directory: "/" });
  const text = summary([
    { suite: suite("packages/a"), tally: { passed: 3, failed: 0, skipped: 1 }, ms: 10 },
    { suite: suite("packages/b"), tally: { passed: 4, failed: 2, skipped: 0 }, ms: 70_000 },
  ]);
  expect(text.trimEnd().split("\n").at(-1)).toBe("7 passed, 2 failed");
});
