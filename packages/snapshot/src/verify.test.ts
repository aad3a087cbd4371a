// SPDX-License-Identifier: Apache-2.0
import { appendFile, chmod, open, rm, truncate, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seal } from "./seal.ts";
import { Folders } from "./testing/folder.ts";
import { verify } from "./verify.ts";

async function flip(path: string, at: number): Promise<void> {
  await using file = await open(path, "r+");
  await file.write(Buffer.from([0xee]), 0, 1, at);
}

describe("a sealed snapshot", () => {
  it("is found whole, and one that was not sealed is told apart", async () => {
    await using folders = await Folders.make();
    const folder = await folders.snapshot("snp_a");
    expect(await verify(folder)).toBe(false);
    const sealed = await seal(folder);
    expect(sealed.images.map(({ name, chunks }) => [name, chunks.map((one) => one !== null)])).toEqual([
      ["inventory.img", [true]],
      ["pages-1.img", [true, false, true]],
    ]);
    expect(await verify(folder)).toBe(true);
  });

  it.each<[string, string, (folder: string) => Promise<void>]>([
    [
      "one byte of an image",
      "images/pages-1.img is damaged: bytes 4194304 to 8388608",
      (f) => flip(join(f, "images/pages-1.img"), 5_000_000),
    ],
    ["a cut image", "images/pages-1.img is damaged: it has 5 bytes", (f) => truncate(join(f, "images/pages-1.img"), 5)],
    ["a missing image", "images/inventory.img is damaged: it is missing", (f) => rm(join(f, "images/inventory.img"))],
    ["a file of the layer", "upper is damaged", (f) => appendFile(join(f, "upper/etc/file"), "x")],
    ["a mode in the layer", "upper is damaged", (f) => chmod(join(f, "upper/etc/file"), 0o600)],
    ["a time in the layer", "upper is damaged", (f) => utimes(join(f, "upper/etc/file"), 1, 1)],
    ["a whiteout that is gone", "upper is damaged", (f) => rm(join(f, "upper/etc/removed"))],
    ["the manifest", "manifest.json is damaged", (f) => appendFile(join(f, "manifest.json"), " ")],
    ["the seal itself", "seal.json cannot be read", (f) => truncate(join(f, "seal.json"), 40)],
  ])("that lost %s is refused by name", async (_, message, harm) => {
    await using folders = await Folders.make();
    const folder = await folders.snapshot("snp_a");
    await seal(folder);
    await harm(folder);
    await expect(verify(folder)).rejects.toMatchObject({ code: "snapshot_damaged", message: expect.stringContaining(message) });
  });
});
