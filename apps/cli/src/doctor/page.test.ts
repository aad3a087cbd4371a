// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { page } from "./command.ts";
import { fail, ok, warn } from "./finding.ts";

test("a page has a line per check, a remedy below each that needs one, and the verdict last", () => {
  const lines = page(
    [ok("kernel", "6.1"), warn("huge pages", "off", "switch them on"), fail("criu", "missing", "./collimate setup")],
    false,
  )
    .trimEnd()
    .split("\n");
  expect(lines).toEqual([
    "  ✓ kernel      6.1",
    "  ! huge pages  off",
    "                → switch them on",
    "  ✗ criu        missing",
    "                → ./collimate setup",
    "",
    "This machine cannot fork: see the lines marked ✗.",
  ]);
});
