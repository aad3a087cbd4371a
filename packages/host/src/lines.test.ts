// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";

import { LineBuffer } from "./lines.ts";

test("lines come whole however the bytes are cut, also inside a character", () => {
  const bytes = Buffer.from("eins\nzwölf\n\nrest");
  for (let cut = 0; cut <= bytes.length; cut++) {
    const lines = new LineBuffer(100);
    expect([...lines.push(bytes.subarray(0, cut)), ...lines.push(bytes.subarray(cut))]).toEqual(["eins", "zwölf", ""]);
  }
});

test("a line over the limit is an error, however it is cut", () => {
  const lines = new LineBuffer(10);
  expect(lines.push(Buffer.from("0123456789\n"))).toEqual(["0123456789"]);
  lines.push(Buffer.from("01234"));
  expect(() => lines.push(Buffer.from("567890\n"))).toThrow(/more than 10 bytes/);
});
