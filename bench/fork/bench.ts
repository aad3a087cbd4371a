// SPDX-License-Identifier: Apache-2.0
/** `bench fork`: ours beside stock criu, podman, LazyFork, a cold start and the kernel's floor, on the same subject in one run. */
import type { Isolation } from "../engine/isolation.ts";
import type { Laboratory } from "../engine/laboratory.ts";
import { Samples } from "../measure/samples.ts";
import type { Measured, Target } from "../report/result.ts";
import type { BenchOptions } from "../options.ts";
import { runColdStart } from "./cold-start.ts";
import { runFloor } from "./floor.ts";
import { type LiveFork, runLiveFork, runSlotPreparation } from "./live-fork.ts";
import { runPeers } from "./peers/peers.ts";
import { PODMAN_COPIES } from "./peers/podman.ts";
import { runStockCriu } from "./stock-criu.ts";

/** Each copy has the whole memory to itself: as many as any machine has room for. */
const STOCK_COPIES = 4;
const COLD_STARTS = 5;

export async function benchFork(laboratory: Laboratory, options: BenchOptions, tell: (line: string) => void): Promise<Measured> {
  const { width, runs } = options;
  const { subject } = laboratory;
  const samples = new Samples();
  const little: LiveFork = { label: "1 MB written", write: subject.writeLittle, width };
  const all: LiveFork = { label: "200 MB written", write: subject.writeAll, width };
  let isolation: Isolation = {};
  // A first run finds memory that the machine has not used lately, and code that is not compiled yet.
  await runLiveFork(laboratory, little, new Samples());
  for (let run = 1; run <= runs; run++) {
    for (const fork of [little, all]) {
      tell(`run ${run} of ${runs}: ${width} children, ${fork.label}`);
      const seen = await runLiveFork(laboratory, fork, samples);
      isolation = Object.fromEntries(Object.entries(seen).map(([name, on]) => [name, on && (isolation[name] ?? true)]));
    }
    await runSlotPreparation(laboratory, width, samples);
  }
  for (let run = 1; run <= Math.max(runs, COLD_STARTS); run++) {
    tell(`cold start ${run}`);
    await runColdStart(laboratory, samples);
  }
  tell("stock criu restore");
  await runStockCriu(laboratory, options.tools, STOCK_COPIES, runs, samples);
  tell("floor");
  await runFloor(laboratory, width, runs, samples);
  const skipped = await runPeers(laboratory, options, samples, tell);
  const ratios = ratiosOf(samples);
  return {
    bench: "fork",
    subject: subject.name,
    n: width,
    runs,
    isolation,
    figures: samples.figures(),
    ratios,
    targets: targetsOf(samples, ratios, subject.name),
    skipped,
    notes: [
      "cpu: user and system time of everything, from control groups: the engine, its helpers, holders and the restored tasks",
      "first answers are a small cell in every child's interpreter, all asked at once as soon as the fork has returned",
      "private memory: Private_Dirty; page tables apart",
      `stock criu: ${STOCK_COPIES} copies one after another, podman: ${PODMAN_COPIES}, each per copy; cold start: one sandbox at a time`,
      "podman and LazyFork fork the same Python program, without init and without a user namespace (LazyFork: in the host's network too)",
    ],
  };
}

/** By CPU, which a busy machine does not change much. */
function ratiosOf(samples: Samples): Record<string, number> {
  const ours = samples.median("1 MB written: fork and first answer, cpu per child");
  const wall = samples.median("1 MB written: call to last first answer, wall");
  const podman = samples.has("podman container restore, cpu per copy");
  const lazyFork = samples.has("LazyFork: fork and first answer, cpu per child");
  const ratios = {
    "cold start to ours, cpu": samples.median("cold start, cpu") / ours,
    "stock criu restore to ours, cpu": samples.median("stock criu restore, cpu per copy") / ours,
    ...(podman ? { "podman restore to ours, cpu": samples.median("podman container restore, cpu per copy") / ours } : {}),
    ...(lazyFork
      ? {
          "LazyFork to ours, cpu": samples.median("LazyFork: fork and first answer, cpu per child") / ours,
          "LazyFork to ours, wall": samples.median("LazyFork: call to last first answer, wall") / wall,
        }
      : {}),
    "ours to the floor, cpu": ours / samples.median("fork into fresh namespaces (floor), cpu each"),
  };
  // Of medians: there is one of each, and no pairs to make more of.
  return Object.fromEntries(Object.entries(ratios).map(([name, value]) => [name, Math.round(value * 100) / 100]));
}

function targetsOf(samples: Samples, ratios: Readonly<Record<string, number>>, subject: "numpy" | "torch"): Target[] {
  const at = (name: string, atMost: number): Target => ({ name, measured: samples.median(name), bound: { atMost } });
  const torch = subject === "torch";
  return [
    at("1 MB written: call to last first answer, wall", torch ? 1600 : 550),
    at("1 MB written: fork, cpu per child", torch ? 30 : 14),
    at("1 MB written: private at birth, per child", 0.2),
    at("1 MB written: private after a small exec, per child", 1),
    at("200 MB written: private after a small exec, per child", 1),
    at("1 MB written: parent pause", torch ? 60 : 15),
    at("200 MB written: parent pause", torch ? 60 : 50),
    // An import of numpy is too quick to be compared with.
    ...(torch ? [{ name: "cold start to ours, cpu", measured: ratios["cold start to ours, cpu"] ?? 0, bound: { atLeast: 10 } }] : []),
  ];
}
