// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { printable } from "./progress.ts";
import { duration, size } from "./quantity.ts";
import { table } from "./table.ts";

test("columns are as wide as their widest cell and numbers stand right", () => {
  expect(
    table(
      [{ title: "name" }, { title: "ms", align: "right" }],
      [
        ["fork", "7"],
        ["grading", "1234"],
      ],
    ),
  ).toBe(["name       ms", "───────  ────", "fork        7", "grading  1234"].join("\n"));
});

test("a program's output cannot move the cursor or break the line", () => {
  expect(printable("red \u001b[31mtext\r\nnext\u009b2J")).toBe("red  [31mtext next 2J");
  expect(printable("x".repeat(1_000))).toHaveLength(200);
});

test("amounts are in units that a person reads at a glance", () => {
  expect([duration(12.4), duration(4_210), duration(185_000)]).toEqual(["12 ms", "4.2 s", "3 min 5 s"]);
  expect([size(512), size(1_536), size(20 * 2 ** 30)]).toEqual(["512 B", "1.5 KiB", "20 GiB"]);
});
