// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { parseDumpStats } from "./stats.ts";

/** Written by criu 4.2.1, but for the numbers: freezing 300 us, frozen 70,000 us, 5 = 1000, 6 = 900, 7 = 100. */
function image(body: number[]): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(0x55105940, 0);
  header.writeUInt32LE(0x57093306, 4);
  header.writeUInt32LE(body.length, 8);
  return Buffer.concat([header, Buffer.from(body)]);
}
const FIELDS = [0x08, 0xac, 0x02, 0x10, 0xf0, 0xa2, 0x04, 0x28, 0xe8, 0x07, 0x30, 0x84, 0x07, 0x38, 0x64];

test("reads what criu has written", () => {
  expect(parseDumpStats(image([0x0a, FIELDS.length, ...FIELDS]))).toEqual({
    freezingMs: 0.3,
    frozenMs: 70,
    pagesScanned: 1000,
    pagesInParent: 900,
    pagesWritten: 100,
  });
});

test("refuses what is not such an image", () => {
  expect(() => parseDumpStats(Buffer.alloc(4))).toThrow("not a statistics image");
  expect(() => parseDumpStats(Buffer.alloc(40))).toThrow("not a statistics image");
});

test("refuses a damaged image", () => {
  const whole = image([0x0a, FIELDS.length, ...FIELDS]);
  expect(() => parseDumpStats(whole.subarray(0, 20))).toThrow("cut off");
  expect(() => parseDumpStats(image([0x0a, 0x7f, 0x08]))).toThrow("cut off");
  expect(() => parseDumpStats(image([0x0a, 3, 0x08, 0xff, 0xff]))).toThrow("cut off");
  expect(() => parseDumpStats(image([0x0d, 0]))).toThrow("wire type 5");
});
