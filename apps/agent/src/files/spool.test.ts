// SPDX-License-Identifier: Apache-2.0
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Spool } from "./spool.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "spool-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("bytes come out as they went in, as often as asked, with their hash, and no name is left in the folder", async () => {
  const bytes = randomBytes(3 * 256 * 1024 + 17);
  await using spool = await Spool.open(folder);
  await spool.fill(pieces(bytes, 100_001), bytes.length);
  expect([spool.size, spool.sha256]).toEqual([bytes.length, createHash("sha256").update(bytes).digest("hex")]);
  for (let i = 0; i < 2; i++) expect((await buffer(spool.chunks())).equals(bytes)).toBe(true);
  expect(await readdir(folder)).toEqual([]);
});

test("a second filling takes the place of the first, a shorter one too", async () => {
  await using spool = await Spool.open(folder);
  await spool.fill(pieces(Buffer.alloc(1_000, "a"), 1_000), 1_000);
  await spool.fill(pieces(Buffer.from("short"), 2), 1_000);
  expect((await buffer(spool.chunks())).toString()).toBe("short");
});

test("no byte more than allowed is taken", async () => {
  await using spool = await Spool.open(folder);
  await spool.fill(pieces(Buffer.alloc(100), 30), 100);
  await expect(spool.fill(pieces(Buffer.alloc(101), 30), 100)).rejects.toMatchObject({ code: "payload_too_large" });
});

test("nothing at all is a file too", async () => {
  const spool = await Spool.open(folder);
  await spool.fill(pieces(Buffer.alloc(0), 1), 0);
  expect(spool.sha256).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect((await buffer(spool.stream())).length).toBe(0);
});

test("a stream takes the spool with it", async () => {
  const spool = await Spool.open(folder);
  await spool.fill(pieces(Buffer.from("whole"), 5), 5);
  expect((await buffer(spool.stream())).toString()).toBe("whole");
  await expect(buffer(spool.chunks())).rejects.toThrow();
});
