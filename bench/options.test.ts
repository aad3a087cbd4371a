// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { readOptions } from "./options.ts";

const PLACE = ["--image", "host/python@sha256:00", "--state", "/s", "--tools", "/t"];

test("a benchmark runs five times with 64 children unless told otherwise", () => {
  expect(readOptions(["fork", ...PLACE])).toMatchObject({ bench: "fork", subject: "numpy", width: 64, runs: 5 });
  expect(readOptions(["create", ...PLACE, "--runs=9", "--subject=torch"])).toMatchObject({ runs: 9, subject: "torch" });
});

test("what cannot be is refused by name", () => {
  expect(() => readOptions(["fly", ...PLACE])).toThrow("bench:");
  expect(() => readOptions(["fork", ...PLACE, "--width=0"])).toThrow("width:");
  expect(() => readOptions(["fork", "--image", "x", "--tools", "/t"])).toThrow("state:");
});
