// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seal } from "@collimate/snapshot";
import { afterEach, expect, it, vi } from "vitest";
import { commandLine } from "../command-line.ts";

const MANIFEST = {
  format: 2,
  kind: "template",
  templateId: "tpl_1",
  image: "registry.test/app@sha256:0",
  imageDigest: "sha256:0",
  guest: "0123456789abcdef",
  base: null,
  workdir: "/",
  user: "",
  ports: [],
  network: false,
  resources: { vcpus: 1, memory_mib: 64, disk_mib: 64, pids: 64 },
  privateBytes: 4_096,
  kernel: "6",
  criu: "4.2.1",
  arch: "x64",
  cpuFeatures: ["sse2"],
  createdAt: "2026-01-01T00:00:00.000Z",
};

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
      await writeFile(join(store, id, "manifest.json"), JSON.stringify({ ...MANIFEST, id, layers: [id] }));
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
