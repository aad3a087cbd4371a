// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { figure, median, Samples } from "./samples.ts";

describe("a median", () => {
  test("is the middle value, whatever the order", () => {
    expect(median([30, 1, 2])).toBe(2);
  });
  test("of an even number lies between the two in the middle", () => {
    expect(median([4, 1, 2, 100])).toBe(3);
  });
  test("of nothing is refused, not 0", () => {
    expect(() => median([])).toThrow("nothing");
  });
});

test("a figure keeps every run's value in the order of the runs", () => {
  expect(figure("ms", [3, 1, 2.00049])).toEqual({ unit: "ms", median: 2, samples: [3, 1, 2] });
});

test("samples that another has collected are added", () => {
  const [samples, others] = [new Samples(), new Samples()];
  samples.add("ms", { pause: 10 });
  others.add("ms", { pause: 20 });
  others.add("MiB", { private: 1 });
  samples.take(others);
  expect(samples.figures()).toMatchObject({ pause: { samples: [10, 20] }, private: { unit: "MiB", samples: [1] } });
});

test("samples of one name are one figure, with the unit they came with", () => {
  const samples = new Samples();
  samples.add("ms", { pause: 10, fork: 500 });
  samples.add("ms", { pause: 20 });
  samples.add("MiB", { private: 0.1 });
  expect(samples.figures()).toEqual({
    pause: { unit: "ms", median: 15, samples: [10, 20] },
    fork: { unit: "ms", median: 500, samples: [500] },
    private: { unit: "MiB", median: 0.1, samples: [0.1] },
  });
});
