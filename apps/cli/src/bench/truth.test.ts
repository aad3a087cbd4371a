// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { truthResult } from "./truth.ts";

type Asserted = { title: string; status: string; failureMessages?: string[]; meta?: object };
const report = (...assertionResults: Asserted[]) => JSON.stringify({ testResults: [{ assertionResults }] });
const asked = (title: string, forks: number, complaints: string[] = []): Asserted => ({
  title,
  status: complaints.length === 0 ? "passed" : "failed",
  meta: { truth: { forks, complaints } },
});

test("it is true when every program was asked as often as it should be and had nothing to complain of", () => {
  expect(truthResult(report(asked("Go", 20), asked("redis", 21)), 20)).toMatchObject({ wrong: 0, ok: true });
  expect(truthResult(report(asked("Go", 20), asked("redis", 19)), 20).ok).toBe(false);
  expect(truthResult(report(asked("Go", 20, ["child: byte 7 is 3"]), asked("redis", 20)), 20)).toMatchObject({ wrong: 1, ok: false });
});

test("a program that could not be asked is told with the reason, and no program at all is no success", () => {
  const broken = truthResult(report(asked("Go", 20), { title: "redis", status: "failed", failureMessages: ["fork failed"] }), 20);
  expect(broken).toMatchObject({ ok: false, programs: [{ name: "Go" }, { name: "redis", forks: 0, complaints: ["fork failed"] }] });
  expect(truthResult(report(), 20).ok).toBe(false);
});
