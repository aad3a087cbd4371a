// SPDX-License-Identifier: Apache-2.0
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startRegistry } from "@collimate/embedded";
import { z } from "zod";
import { applyHostSettings, undoHostSettings } from "../platform/host-settings.ts";
import { pushCatalogImage } from "../quickstart/catalog-image.ts";
import { readJson } from "../state/json-file.ts";
import { makeStateDirectories } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import { say, step } from "../terminal/progress.ts";
import { CATALOG, runBench } from "./program.ts";
import type { BenchFlags } from "./program.ts";

/** Benchmarks of the engine alone, in bench/: no queues, no database. */
export const ENGINE_BENCHES = ["fork", "create", "exec", "suspend", "chain"] as const;

/** Of the platform, or of a run that was killed: whoever changed the host's settings puts them back. */
const anySettings = z.record(z.string(), z.string());

/** Runs one with an image from a registry of its own and the host settings of `up`; false when its figures are not to be quoted. */
export async function benchEngine(
  bench: string,
  platform: StatePaths,
  tools: string,
  flags: BenchFlags,
  signal: AbortSignal,
): Promise<boolean> {
  await makeStateDirectories(platform);
  const folder = join(platform.root, "bench");
  await mkdir(folder, { recursive: true });
  await using undo = new AsyncDisposableStack();
  if ((await readJson(platform.hostSettings, anySettings)) === undefined) {
    undo.defer(async () => void (await undoHostSettings(platform)));
    for (const line of await applyHostSettings(platform)) say(`  host setting for the time of the benchmark: ${line}`);
  }
  const image =
    flags.image === undefined ? await catalogImage(CATALOG[flags.subject], folder, tools, undo, signal) : { image: flags.image };
  // Awaited here: the registry is needed until it has ended.
  return await runBench({ bench, tools, state: join(folder, "engine"), ...image }, flags, signal);
}

async function catalogImage(
  name: string,
  folder: string,
  tools: string,
  undo: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<{ image: string; insecureRegistry: string }> {
  const registry = undo.use(await startRegistry({ dir: join(folder, "registry") }));
  const image = await step(`image ${name}`, (progress) => pushCatalogImage(name, registry.host, tools, progress, signal));
  return { image, insecureRegistry: registry.host };
}
