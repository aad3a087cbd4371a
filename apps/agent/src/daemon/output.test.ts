// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { Output, OutputBudget, textOf } from "./output.ts";

describe("output", () => {
  it("keeps characters that chunks cut in two, and a byte order mark", () => {
    using output = new Output(new OutputBudget(100));
    const bytes = Buffer.from("\uFEFFü€😀");
    for (const byte of bytes) output.add(Buffer.of(byte));
    expect(textOf(output.bytes(), false)).toBe("\uFEFFü€😀");
  });

  it("leaves out the half of a character that the cap cut, and marks bytes that are no text", () => {
    expect(textOf(Buffer.from("ab€").subarray(0, 4), true)).toBe("ab");
    expect(textOf(Buffer.from("ab€").subarray(0, 4), false)).toBe("ab\uFFFD");
    expect(textOf(Buffer.from([0x61, 0xff, 0x62]), true)).toBe("a\uFFFDb");
  });

  it("is counted until its reply is made", () => {
    const budget = new OutputBudget(10);
    {
      using one = new Output(budget);
      one.add(Buffer.alloc(4));
      using two = new Output(budget);
      two.add(Buffer.alloc(6));
      expect([budget.held, budget.exhausted]).toEqual([10, true]);
    }
    expect([budget.held, budget.exhausted]).toEqual([0, false]);
  });
});
