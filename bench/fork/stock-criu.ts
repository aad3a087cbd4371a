// SPDX-License-Identifier: Apache-2.0
/** What criu does by itself: `criu restore` of plain full images, each copy with memory of its own. */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type CriuProgram, probe, restore } from "@collimate/criu";
import { Hostd } from "@collimate/host";
import { z } from "zod";
import type { Laboratory } from "../engine/laboratory.ts";
import type { Samples } from "../measure/samples.ts";
import { untilGone } from "./until-gone.ts";

/** Its own daemon knows no other slot. */
const SLOT = 0;
const manifestSchema = z.object({ layers: z.array(z.string()), guest: z.string() });

interface Stock {
  readonly images: string;
  readonly lower: readonly string[];
  readonly uidBase: number;
}

/** `count` copies, one after another, with the images of a suspended sandbox; all are ended afterwards. */
export async function runStockCriu(laboratory: Laboratory, tools: string, count: number, runs: number, into: Samples): Promise<void> {
  const probed = await probe({ path: join(tools, "criu", "criu") });
  if (!probed.works) throw new Error(`criu does not work here: ${probed.reason}`);
  const sandbox = await laboratory.create();
  const { uidBase } = laboratory.bare.engine.registry.live(sandbox).slot;
  const snapshot = await laboratory.suspend(sandbox);
  const { paths } = laboratory.bare;
  const folder = join(paths.snapshots, snapshot);
  const manifest = manifestSchema.parse(JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")));
  const lower = [
    ...manifest.layers.map((layer) => join(paths.snapshots, layer, "upper")),
    join(paths.guestLayer, manifest.guest, "layer"),
    await laboratory.imageRoot(),
  ];
  try {
    for (let run = 0; run < runs; run++)
      await oneRun(laboratory, probed.program, { images: join(folder, "images"), lower, uidBase }, tools, count, into);
  } finally {
    // It is a sandbox again, so that it can be deleted.
    await laboratory.resume(sandbox, snapshot);
    await laboratory.remove([sandbox]);
  }
}

async function oneRun(
  laboratory: Laboratory,
  program: CriuProgram,
  stock: Stock,
  tools: string,
  count: number,
  into: Samples,
): Promise<void> {
  await using undo = new AsyncDisposableStack();
  // Below the engine's folder of mount points, which a restored process can reach.
  const place = await mkdtemp(join(laboratory.bare.paths.slots, "stock-"));
  undo.defer(() => rm(place, { recursive: true, force: true }));
  await mkdir(join(place, "root"));
  const hostd = undo.use(
    await Hostd.start({ binary: join(tools, "host", "collimate-hostd"), socket: join(laboratory.bare.paths.run, "stock.sock") }),
  );
  await hostd.client.createUserns(SLOT, stock.uidBase);
  let pids: number[] = [];
  undo.defer(() => endAll(pids));
  const cost = await laboratory.cpu.of(async () => {
    for (let copy = 0; copy < count; copy++) pids.push(await oneCopy(hostd, program, stock, place, copy));
  });
  await endAll(pids);
  pids = [];
  into.add("ms", { "stock criu restore, cpu per copy": cost.cpuMs / count, "stock criu restore, wall per copy": cost.wallMs / count });
}

async function oneCopy(hostd: Hostd, program: CriuProgram, stock: Stock, place: string, copy: number): Promise<number> {
  const base = join(place, String(copy));
  const root = join(place, "root");
  for (const name of ["upper", "work", "restore"]) await mkdir(join(base, name), { recursive: true, mode: 0o755 });
  await hostd.client.mountOverlay({ slot: SLOT, target: root, lower: [...stock.lower], base });
  try {
    return await restore({ program, tree: { emptyNetwork: true, tcp: "close" }, images: stock.images, root, work: join(base, "restore") });
  } finally {
    await hostd.client.umount(root);
  }
}

async function endAll(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await untilGone(pids);
}
