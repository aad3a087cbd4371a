// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { meaningfulLines } from "./log.ts";

test("quotes the errors and not what every run says", () => {
  const log = [
    "Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted",
    "Warn  (criu/kerndat.c:1642): something",
    "     2: Error (criu/files-reg.c:2353): Can't open file stderr on restore: Permission denied",
    "Error (criu/cr-restore.c:2331): Restoring FAILED.",
  ].join("\n");
  expect(meaningfulLines(log)).toEqual(["2: Error (criu/files-reg.c:2353): Can't open file stderr on restore: Permission denied"]);
});

test("falls back to warnings, then to the last lines", () => {
  expect(meaningfulLines("one\nWarn  (x): two\nthree\n")).toEqual(["Warn  (x): two"]);
  expect(meaningfulLines("one\ntwo\n\n")).toEqual(["one", "two"]);
  expect(meaningfulLines("")).toEqual([]);
});

test("lets no control characters or endless lines through", () => {
  const [line] = meaningfulLines(`Error (x): \u001b[2J${"y".repeat(10_000)}`);
  expect(line).toMatch(/^Error \(x\): \?\[2Jy+$/);
  expect(line?.length).toBeLessThanOrEqual(300);
});
