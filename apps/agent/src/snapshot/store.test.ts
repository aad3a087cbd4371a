// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Manifest } from "@collimate/snapshot";
import { manifest as sampleManifest } from "@collimate/snapshot/testing";
import { describe, expect, it } from "vitest";
import { type AgentPaths, makePaths } from "../paths.ts";
import { SnapshotStore } from "./store.ts";

const manifest = (id: string, layers: string[] = [], kind: Manifest["kind"] = "template"): Manifest =>
  sampleManifest(id, { kind, layers: [id, ...layers] });

interface World extends AsyncDisposable {
  readonly paths: AgentPaths;
  readonly store: SnapshotStore;
  readonly removed: string[];
  take(id: string, layers?: string[], kind?: Manifest["kind"]): Promise<void>;
  onDisk(): Promise<string[]>;
}

async function world(): Promise<World> {
  const state = await mkdtemp(join(tmpdir(), "collimate-store-"));
  const paths = await makePaths(state);
  const removed: string[] = [];
  const store = new SnapshotStore(paths, async (id) => void removed.push(id));
  return {
    paths,
    store,
    removed,
    take: async (id, layers = [], kind = "template") => {
      const { upper } = await store.begin(id, kind);
      await mkdir(upper);
      await store.commit(manifest(id, layers, kind));
    },
    onDisk: async () => (await readdir(paths.snapshots)).toSorted(),
    [Symbol.asyncDispose]: () => rm(state, { recursive: true, force: true }),
  };
}

describe("a snapshot", () => {
  it("goes when the last who needs it lets go, its holder before its folder", async () => {
    await using w = await world();
    await w.take("snp_a");
    w.store.retain("snp_a");
    await w.store.release("snp_a");
    expect([w.store.has("snp_a"), await w.onDisk()]).toEqual([true, ["snp_a"]]);
    await w.store.release("snp_a");
    expect([w.store.has("snp_a"), w.removed, await w.onDisk()]).toEqual([false, ["snp_a"], []]);
  });

  it("stays while another lies on its layer, and goes with that one", async () => {
    await using w = await world();
    await w.take("snp_base");
    await w.take("snp_mid", ["snp_base"], "fork");
    await w.take("snp_top", ["snp_mid", "snp_base"], "fork");
    await w.store.release("snp_base");
    await w.store.release("snp_mid");
    expect(await w.onDisk()).toEqual(["snp_base", "snp_mid", "snp_top"]);
    await w.store.release("snp_top");
    expect(await w.onDisk()).toEqual([]);
  });

  it("that only lies below another has no images and no holder, and is not found again by its name", async () => {
    await using w = await world();
    await w.take("snp_base");
    await w.take("snp_fork", ["snp_base"], "fork");
    await w.take("snp_top", ["snp_fork", "snp_base"], "suspend");
    await w.store.release("snp_fork");
    await w.store.release("snp_base");
    expect([w.removed, await readdir(w.paths.memory), await readdir(join(w.paths.snapshots, "snp_base"))]).toEqual([
      ["snp_fork", "snp_base"],
      [],
      ["manifest.json", "upper"],
    ]);
    const next = new SnapshotStore(w.paths, async () => {});
    await next.load();
    await next.release("snp_top");
    expect(await w.onDisk()).toEqual([]);
  });

  it("goes whole, and without a complaint, when all that lay on it goes at the same time", async () => {
    for (let round = 0; round < 50; round++) {
      await using w = await world();
      await w.take("snp_base");
      await w.take("snp_fork", ["snp_base"], "fork");
      await w.take("snp_top", ["snp_fork", "snp_base"], "suspend");
      await Promise.all(["snp_base", "snp_fork", "snp_top"].map((id) => w.store.release(id)));
      expect([await w.onDisk(), await readdir(w.paths.memory)]).toEqual([[], []]);
    }
  });

  it("stays whole while another is a difference from it", async () => {
    await using w = await world();
    await w.take("snp_base");
    const { upper } = await w.store.begin("snp_delta", "fork");
    await mkdir(upper);
    await w.store.commit({ ...manifest("snp_delta", ["snp_base"], "fork"), base: "snp_base" });
    await w.store.release("snp_base");
    expect(w.removed).toEqual([]);
    await w.store.release("snp_delta");
    expect([w.removed, await w.onDisk()]).toEqual([["snp_delta", "snp_base"], []]);
  });

  it("that is let go too often takes nobody else's need", async () => {
    await using w = await world();
    await w.take("snp_base");
    await w.take("snp_top", ["snp_base"], "fork");
    await w.store.release("snp_top");
    await w.store.release("snp_top");
    expect(await w.onDisk()).toEqual(["snp_base"]);
  });

  it("cannot be had or retained when it is not here", async () => {
    await using w = await world();
    for (const work of [() => w.store.get("snp_none"), () => w.store.retain("snp_none")])
      expect(work).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  it("that was begun and given up leaves nothing", async () => {
    await using w = await world();
    const { images } = await w.store.begin("snp_a", "fork");
    await writeFile(join(images, "pages-1.img"), "x");
    await w.store.abandon("snp_a");
    expect([await w.onDisk(), await readdir(w.paths.memory), w.store.has("snp_a")]).toEqual([[], [], false]);
  });
});

describe("after a restart", () => {
  it("templates and suspended sandboxes are there with the layers below them; forks and debris are not", async () => {
    await using w = await world();
    await w.take("snp_template");
    await w.take("snp_fork", ["snp_template"], "fork");
    await w.take("snp_suspended", ["snp_fork", "snp_template"], "suspend");
    await w.take("snp_lost_fork", ["snp_template"], "fork");
    await w.store.begin("snp_half", "template");
    await mkdir(join(w.paths.snapshots, "snp_garbled"));
    await writeFile(join(w.paths.snapshots, "snp_garbled", "manifest.json"), "{ half");

    const next = new SnapshotStore(w.paths, async () => {});
    await next.load();
    expect(
      next
        .list()
        .filter((one) => one.manifest.kind !== "fork")
        .map((one) => one.manifest.id)
        .toSorted(),
    ).toEqual(["snp_suspended", "snp_template"]);
    expect(await w.onDisk()).toEqual(["snp_fork", "snp_suspended", "snp_template"]);
    expect(await readdir(w.paths.memory)).toEqual([]);
  });

  it("the layer of a fork goes with the suspended sandbox that lay on it", async () => {
    await using w = await world();
    await w.take("snp_template");
    await w.take("snp_fork", ["snp_template"], "fork");
    await w.take("snp_suspended", ["snp_fork", "snp_template"], "suspend");
    const next = new SnapshotStore(w.paths, async () => {});
    await next.load();
    await next.release("snp_suspended");
    expect(await w.onDisk()).toEqual(["snp_template"]);
  });
});
