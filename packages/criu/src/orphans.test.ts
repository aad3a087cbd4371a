// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { decodeTree, encodeTree, type TreeEntry, withOrphansAtInit } from "./orphans.ts";

const task = (pid: number, ppid: number, sid: number): TreeEntry => ({ pid, ppid, pgid: sid, sid, threads: [pid] });
const parents = (entries: readonly TreeEntry[]) => withOrphansAtInit(entries).map((entry) => entry.ppid);

describe("orphans of a subreaper", () => {
  it("whose session leader has ended become children of init", () => {
    expect(parents([task(1, 0, 1), task(5, 1, 1), task(9, 5, 7)])).toEqual([0, 1, 1]);
  });
  it("whose session leader lives elsewhere become children of init", () => {
    expect(parents([task(1, 0, 1), task(5, 1, 1), task(7, 5, 7), task(9, 5, 7)])).toEqual([0, 1, 5, 1]);
  });
  it("keep their own children", () => {
    expect(parents([task(1, 0, 1), task(5, 1, 1), task(9, 5, 7), task(10, 9, 7)])).toEqual([0, 1, 1, 9]);
  });
  it("are only those: leaders and their descendants stay where they are", () => {
    expect(parents([task(1, 0, 1), task(5, 1, 5), task(7, 5, 7), task(8, 7, 7), task(12, 8, 7)])).toEqual([0, 1, 5, 7, 8]);
  });
});

it("a process tree image survives being read and written", () => {
  const entries = [task(1, 0, 1), { pid: 300, ppid: 1, pgid: 70_000, sid: 300, threads: [300, 301, 4_000_000] }];
  expect(decodeTree(encodeTree(entries))).toEqual(entries);
  expect(() => decodeTree(Buffer.alloc(12))).toThrow(/not a process tree image/);
  expect(() => decodeTree(encodeTree(entries).subarray(0, -1))).toThrow(/cut off/);
});
