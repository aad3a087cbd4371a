// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { anonymousBytes, mappedOtherwise } from "./mappings.ts";

const BEFORE = `55d000000000-55d000001000 r-xp 00000000 00:2a 17                         /usr/bin/program
55d000002000-55d000023000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 
7ffc00000000-7ffc00004000 r--p 00000000 00:00 0                          [vvar]
`;

test("the same memory in other pieces is the same", () => {
  const pieces = BEFORE.replace(
    "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n",
    "7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n7f0000200000-7f0000400000 r--p 00000000 00:00 0 \n",
  );
  expect(mappedOtherwise(BEFORE, pieces)).toEqual([]);
  expect(anonymousBytes(pieces)).toBe(anonymousBytes(BEFORE));
});

test("memory that comes from a file, shared or private, is told, and so is memory that is gone", () => {
  const file = "7f0000100000-7f0000200000 rw-p 00000000 00:2a 99                         /snapshot/pages";
  const mapped = BEFORE.replace(
    "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n",
    `7f0000000000-7f0000100000 rw-p 00000000 00:00 0 \n${file}\n7f0000200000-7f0000400000 rw-p 00000000 00:00 0 \n`,
  );
  expect(mappedOtherwise(BEFORE, mapped)).toEqual(["was anonymous: 7f0000000000-7f0000400000 rw-p 00000000 00:00 0 ", `is new: ${file}`]);
  expect(mappedOtherwise(BEFORE, "")).toHaveLength(2);
});
