// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seal } from "@collimate/snapshot";
import { manifest } from "@collimate/snapshot/testing";
import { afterEach, expect, it, vi } from "vitest";
import { commandLine } from "../command-line.ts";

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

async function run(...args: string[]): Promise<unknown> {
  const out: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0);
  await commandLine().parseAsync(["node", "collimate", "snapshot", ...args, "--json"]);
  vi.restoreAllMocks();
  return JSON.parse(out.join(""));
}

it("shows the snapshots of a store, and names the file of one that is damaged", async () => {
  const store = await mkdtemp(join(tmpdir(), "collimate-cli-store-"));
  try {
    for (const id of ["snp_a", "snp_b", "snp_open"]) {
      await mkdir(join(store, id, "images"), { recursive: true });
      await mkdir(join(store, id, "upper"));
      await writeFile(join(store, id, "images", "core-1.img"), `core of ${id}`);
      await writeFile(join(store, id, "manifest.json"), JSON.stringify(manifest(id)));
      if (id !== "snp_open") await seal(join(store, id));
    }
    expect(await run("ls", "--store", store)).toMatchObject({
      snapshots: [
        { id: "snp_a", state: "sealed" },
        { id: "snp_b", state: "sealed" },
        { id: "snp_open", state: "open" },
      ],
    });
    expect(await run("show", "snp_a", "--store", store)).toMatchObject({ id: "snp_a", images: [{ name: "core-1.img", size: 13 }] });
    expect(await run("diff", "snp_a", "snp_open", "--store", store)).toMatchObject({ images: { changed: ["core-1.img"] } });
    await expect(run("show", "../snp_a", "--store", store)).rejects.toThrow("there is no snapshot ../snp_a");
    await truncate(join(store, "snp_b", "images", "core-1.img"), 3);
    expect(await run("verify", "--store", store)).toMatchObject({
      snapshots: [
        { id: "snp_a", result: "whole" },
        { id: "snp_b", result: "damaged", message: expect.stringContaining("core-1.img is damaged: it has 3 bytes instead of 13") },
        { id: "snp_open", result: "not sealed" },
      ],
    });
    expect(process.exitCode).toBe(1);
  } finally {
    await rm(store, { recursive: true, force: true });
  }
});
