// SPDX-License-Identifier: Apache-2.0
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startRegistry } from "@collimate/embedded";
import { applyHostSettings, undoHostSettings } from "../platform/host-settings.ts";
import { runToEnd } from "../process/run-logged.ts";
import { pushCatalogImage } from "../quickstart/catalog-image.ts";
import { repositoryRoot } from "../repository.ts";
import { makeStateDirectories } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import { say, step } from "../terminal/progress.ts";
import { readJson } from "../state/json-file.ts";
import { Complaint } from "../complaint.ts";
import { z } from "zod";

/** Benchmarks of the engine alone, in bench/: no queues, no database. */
export const ENGINE_BENCHES = ["fork", "create", "exec", "suspend", "chain"] as const;

const LIMIT_MS = 3_600_000;
const CATALOG = { numpy: "python", torch: "pytorch-cpu" } as const;
/** Of the platform, or of a run that was killed: whoever changed the host's settings puts them back. */
const anySettings = z.record(z.string(), z.string());

export interface EngineBench {
  subject: keyof typeof CATALOG;
  width: number;
  runs: number;
  depth: number;
  image?: string;
  json?: boolean;
}

/** Runs one with an image from a registry of its own and the host settings of `up`; false when its figures are not to be quoted. */
export async function benchEngine(
  bench: string,
  platform: StatePaths,
  tools: string,
  flags: EngineBench,
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
    flags.image === undefined ? await catalogImage(CATALOG[flags.subject], folder, tools, undo, signal) : { reference: flags.image };
  let last = "";
  const log = join(tools, "logs", `bench-${bench}.log`);
  const { code } = await step(`bench ${bench}`, (progress) =>
    runToEnd({
      name: `bench ${bench}`,
      argv: [
        // The engine mounts all day: nobody else shall see it.
        ...(["unshare", "--mount", "--propagation", "private", "--", process.execPath] as const),
        join(repositoryRoot(), "bench", "main.ts"),
        bench,
        `--subject=${flags.subject}`,
        `--image=${image.reference}`,
        `--state=${join(folder, "engine")}`,
        `--tools=${tools}`,
        `--width=${flags.width}`,
        `--runs=${flags.runs}`,
        `--depth=${flags.depth}`,
        ...("host" in image ? [`--insecure-registry=${image.host}`] : []),
      ],
      cwd: "/",
      log,
      limitMs: LIMIT_MS,
      signal,
      tell: "program", // the mechanism daemon is in its group, and is needed for the end
      onLine: (line, stream) => {
        if (stream === "stderr") return progress.note(line);
        last = line;
        if (flags.json !== true || line.startsWith("{")) process.stdout.write(`${line}\n`);
      },
    }),
  );
  if (!last.startsWith("{")) throw new Complaint(`bench ${bench} broke off (exit code ${code ?? "none"})`, { hint: `Its log: ${log}` });
  return code === 0;
}

async function catalogImage(
  name: string,
  folder: string,
  tools: string,
  undo: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<{ reference: string; host: string }> {
  const registry = undo.use(await startRegistry({ dir: join(folder, "registry") }));
  const reference = await step(`image ${name}`, (progress) => pushCatalogImage(name, registry.host, tools, progress, signal));
  return { reference, host: registry.host };
}
