// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { OutputBudget, OutputStream, textOf } from "./output.ts";

const budget = () => new OutputBudget(1_000);

describe("the text of a stream", () => {
  it("keeps characters whole wherever chunks cut them", () => {
    const text = "aé€😀\u0000z";
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      using stream = new OutputStream(budget());
      for (let at = 0; at < bytes.length; at += size) stream.add(bytes.subarray(at, at + size));
      expect(textOf(stream.bytes(), false)).toBe(text);
    }
  });
  it("replaces only bytes that are no UTF-8", () => {
    expect(textOf(Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xe2, 0x82]), false)).toBe("a\ufffdé\ufffd");
  });
  it("keeps a byte order mark and carriage returns: it is the program's own", () => {
    expect(textOf(Buffer.from("\ufeffa\r\n"), false)).toBe("\ufeffa\r\n");
  });
  it.each(["é", "€", "😀"])("leaves out a %s that the bound cut in two", (character) => {
    const bytes = Buffer.from(character);
    for (let kept = 1; kept < bytes.length; kept++)
      expect(textOf(Buffer.concat([Buffer.from("ab"), bytes.subarray(0, kept)]), true)).toBe("ab");
    expect(textOf(Buffer.from(`ab${character}`), true)).toBe(`ab${character}`);
  });
});

describe("the bound", () => {
  it("is exact, and what was dropped is flagged", () => {
    using stream = new OutputStream(budget(), 5);
    stream.add(Buffer.from("123"));
    stream.add(Buffer.from("45"));
    expect(stream.truncated).toBe(false);
    stream.add(Buffer.from("6"));
    expect([stream.truncated, stream.bytes().toString()]).toEqual([true, "12345"]);
  });
  it("counts what is held, and gives it back", () => {
    const shared = new OutputBudget(10);
    {
      using stream = new OutputStream(shared);
      stream.add(Buffer.alloc(10));
      expect([shared.held, shared.exhausted]).toEqual([10, true]);
    }
    expect([shared.held, shared.exhausted]).toEqual([0, false]);
  });
});
