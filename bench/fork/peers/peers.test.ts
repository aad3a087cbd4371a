// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { reasonOf } from "./peers.ts";

test("the reason for a way left out is what its program said last", async () => {
  const failed = await promisify(execFile)("sh", ["-c", "echo first >&2; echo 'no such   group' >&2; exit 3"]).catch(
    (error: unknown) => error,
  );
  expect(reasonOf(failed)).toBe("no such group");
});

test("of a program that said nothing it is how it ended", async () => {
  const failed = await promisify(execFile)("sh", ["-c", "exit 3"]).catch((error: unknown) => error);
  expect(reasonOf(failed)).toBe("Command failed: sh -c exit 3");
});
