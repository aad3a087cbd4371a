// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { figure } from "../measure/samples.ts";
import { isMet, judge, lastLine, type Measured, render } from "./result.ts";

const MACHINE = { cpus: 2, kernel: "6.18", load: 0.1 };
const GOOD: Measured = {
  bench: "fork",
  subject: "numpy",
  n: 64,
  runs: 5,
  isolation: { namespace_user: true, seccomp_filter: true },
  figures: { pause: figure("ms", [10, 11, 12, 13, 14]) },
  targets: [{ name: "pause", measured: 12, bound: { atMost: 15 } }],
  skipped: [{ way: "podman", why: "not installed" }],
  notes: [],
};

describe("figures may be quoted", () => {
  test("when all isolation was on and each was measured five times", () => {
    expect(judge(GOOD, MACHINE)).toMatchObject({ ok: true, why: [] });
  });
  test("also when a target was missed: that is what they are for", () => {
    const missed: Measured = { ...GOOD, targets: [{ name: "pause", measured: 40, bound: { atMost: 15 } }] };
    expect(judge(missed, MACHINE).ok).toBe(true);
    expect(render(judge(missed, MACHINE))).toContain("✗ pause: 40.00 (at most 15)");
  });
});

describe("figures may not be quoted", () => {
  test("when any isolation was off, which is named", () => {
    const open = judge({ ...GOOD, isolation: { ...GOOD.isolation, seccomp_filter: false } }, MACHINE);
    expect(open).toMatchObject({ ok: false, why: ["isolation is off: seccomp_filter"] });
  });
  test("when isolation was not looked at", () => {
    expect(judge({ ...GOOD, isolation: {} }, MACHINE).ok).toBe(false);
  });
  test("after four runs", () => {
    expect(judge({ ...GOOD, runs: 4 }, MACHINE)).toMatchObject({ ok: false, why: ["4 runs, 5 are needed"] });
  });
  test("when one of them has fewer samples than runs were made", () => {
    const few = judge({ ...GOOD, figures: { ...GOOD.figures, floor: figure("ms", [1]) } }, MACHINE);
    expect(few).toMatchObject({ ok: false, why: ["fewer than 5 samples: floor"] });
  });
});

test("a comparison's target is a lower bound", () => {
  expect(isMet({ name: "cold to ours", measured: 12, bound: { atLeast: 10 } })).toBe(true);
  expect(isMet({ name: "cold to ours", measured: 9, bound: { atLeast: 10 } })).toBe(false);
});

test("the last line is one JSON object that says of each target whether it was met", () => {
  const line = lastLine(judge(GOOD, MACHINE));
  expect(line).not.toContain("\n");
  expect(JSON.parse(line)).toMatchObject({
    bench: "fork",
    n: 64,
    ok: true,
    targets: [{ name: "pause", met: true }],
    skipped: [{ way: "podman" }],
  });
});
