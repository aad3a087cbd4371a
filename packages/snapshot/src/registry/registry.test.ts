// SPDX-License-Identifier: Apache-2.0
import { lstat, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startStack } from "@collimate/embedded";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readManifest } from "../manifest.ts";
import { readSeal, seal } from "../seal.ts";
import { attribute, Folders, manifest } from "../testing/folder.ts";
import { verify } from "../verify.ts";
import { Repository } from "./client.ts";
import { LocalChunks } from "./local-chunks.ts";
import { find, pull } from "./pull.ts";
import { push } from "./push.ts";

let stack: Awaited<ReturnType<typeof startStack<"registry">>>;
beforeAll(async () => void (stack = await startStack("registry")));
afterAll(() => stack.stop());

const repository = (name: string) => new Repository({ address: `${stack.registry.host}/${name}`, insecure: true });

async function pushed(folders: Folders, id: string, to: Repository, seedByte?: number) {
  const folder = await folders.snapshot(id, seedByte);
  await seal(folder);
  return { folder, ...(await push(folder, manifest(id), to)) };
}

describe("a snapshot in a registry", () => {
  it("comes back byte for byte: images, owners, modes, links, whiteouts, attributes", async () => {
    await using folders = await Folders.make();
    const to = repository("whole");
    const { folder } = await pushed(folders, "snp_a", to);
    const found = await find("snp_a", to);
    if (!found) throw new Error("not there");
    const copy = join(folders.root, "copy");
    const pulled = await pull(found, copy, to, await LocalChunks.of([]));
    // Three chunks of images and one of the layer; the one of zeros does not travel.
    expect([pulled.fetched, pulled.local]).toEqual([4, 0]);
    expect(await verify(copy)).toBe(true);
    expect(await readManifest(copy)).toEqual(manifest("snp_a"));
    expect(await readFile(join(copy, "images/pages-1.img"))).toEqual(await readFile(join(folder, "images/pages-1.img")));
    expect(await readdir(join(copy, "images"))).not.toContain("dump.log");
    const [file, twin, gone] = await Promise.all(["file", "twin", "removed"].map((name) => lstat(join(copy, "upper/etc", name))));
    expect([file?.mode, file?.uid, file?.gid, file?.ino]).toEqual([0o104751, 1_000, 1_001, twin?.ino]);
    expect([gone?.isCharacterDevice(), gone?.rdev]).toEqual([true, 0]);
    expect(attribute(join(copy, "upper/etc"), "trusted.overlay.opaque")).toBe("y");
    expect(attribute(join(copy, "upper/etc/file"), "user.note")).toBe("kept");
  });

  it("sends and fetches only the chunks that are missing", async () => {
    await using folders = await Folders.make();
    const to = repository("shared");
    const first = await pushed(folders, "snp_a", to);
    const again = await push(first.folder, manifest("snp_a"), to);
    const second = await pushed(folders, "snp_b", to, 9);
    expect([first.sent, again.sent, again.digest]).toEqual([4, 0, first.digest]);
    expect([second.chunks, second.sent]).toEqual([4, 1 + (await layerDiffers(first.folder, second.folder))]);
    const found = await find("snp_b", to);
    if (!found) throw new Error("not there");
    const pulled = await pull(found, join(folders.root, "copy"), to, await LocalChunks.of([first.folder]));
    expect([pulled.local, pulled.fetched]).toEqual([2, 2]);
    expect(await verify(join(folders.root, "copy"))).toBe(true);
  });

  it("is fetched from the registry where the local copy of a chunk is damaged", async () => {
    await using folders = await Folders.make();
    const to = repository("damaged-here");
    const { folder } = await pushed(folders, "snp_a", to);
    await writeFile(join(folder, "images/pages-1.img"), "spoilt");
    const found = await find("snp_a", to);
    if (!found) throw new Error("not there");
    const pulled = await pull(found, join(folders.root, "copy"), to, await LocalChunks.of([folder]));
    expect([pulled.local, pulled.fetched]).toEqual([1, 3]);
  });

  it("that nobody pushed, or was deleted, is not found", async () => {
    await using folders = await Folders.make();
    const to = repository("deleted");
    expect(await find("snp_none", to)).toBeUndefined();
    await pushed(folders, "snp_a", to);
    await to.deleteManifest("snp_a");
    await to.deleteManifest("snp_a");
    expect(await find("snp_a", to)).toBeUndefined();
  });

  it("is not pushed when its files have changed since they were sealed", async () => {
    await using folders = await Folders.make();
    const to = repository("changed");
    const folder = await folders.snapshot("snp_a");
    await seal(folder);
    await writeFile(join(folder, "images/inventory.img"), "another");
    await expect(push(folder, manifest("snp_a"), to)).rejects.toMatchObject({ code: "snapshot_damaged" });
    expect(await find("snp_a", to)).toBeUndefined();
  });

  it("a registry that does not answer is said so", async () => {
    const to = new Repository({ address: "127.0.0.1:1/nobody", insecure: true });
    await expect(find("snp_a", to)).rejects.toMatchObject({ code: "upstream_error", message: "the registry 127.0.0.1:1 does not answer" });
  });
});

/** Both were filled a moment apart: the times of their files may differ, and with them the layer. */
async function layerDiffers(one: string, other: string): Promise<number> {
  const [a, b] = await Promise.all([readSeal(one), readSeal(other)]);
  return a?.layer.chunks[0] === b?.layer.chunks[0] ? 0 : 1;
}
