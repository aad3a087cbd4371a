// SPDX-License-Identifier: Apache-2.0
import { Complaint } from "../complaint.ts";
import { page } from "../doctor/command.ts";
import { examine } from "../doctor/examine.ts";
import { down } from "../down/down.ts";
import { sdkEnvironment } from "../python/environment.ts";
import type { StatePaths } from "../state/paths.ts";
import { readSecrets } from "../state/secrets.ts";
import { say, step } from "../terminal/progress.ts";
import { up } from "../up/up.ts";
import type { UpResult } from "../up/up.ts";
import { ownImage } from "./catalog-image.ts";
import { ChildMemoryWatch } from "./child-memory.ts";
import { runMainJob } from "./main-job.ts";
import type { Report } from "./report.ts";

export interface QuickstartOptions {
  width: number;
  problems: number;
  /** An OCI reference by digest; undefined: our catalog image of PyTorch. */
  image: string | undefined;
  /** Leave the platform running. */
  keep: boolean;
  tools: string;
}

/** From a machine that is set up to a graded fork of a real image; leaves nothing running unless told to, however it ends. */
export async function quickstart(
  paths: StatePaths,
  options: QuickstartOptions,
  signal: AbortSignal,
): Promise<{ report: Report; leftRunning: boolean }> {
  await step("is this machine fit?", () => requireFitness(paths, options.tools));
  say("Starting Collimate");
  const platform = await up(paths, { host: "127.0.0.1", port: undefined }, signal);
  // One that ran before is somebody's: it stays.
  const leftRunning = options.keep || platform.started.length === 0;
  try {
    return { report: await onPlatform(platform, paths, options, signal), leftRunning };
  } finally {
    if (!leftRunning) await down(paths, false);
  }
}

async function onPlatform({ profile }: UpResult, paths: StatePaths, options: QuickstartOptions, signal: AbortSignal): Promise<Report> {
  const image = options.image ?? (await ownImage("pytorch-cpu", paths, options.tools, signal));
  const environment = await step("Python SDK", (progress) => sdkEnvironment(options.tools, progress, signal));
  const nodeId = (await readSecrets(paths))?.nodeId ?? "";
  using memory = new ChildMemoryWatch(nodeId);
  return await runMainJob(
    { environment, profile, image, width: options.width, problems: options.problems, folder: paths.logs },
    memory,
    signal,
  );
}

async function requireFitness(paths: StatePaths, tools: string): Promise<void> {
  const findings = await examine(paths, tools);
  if (findings.some((finding) => finding.status === "fail")) throw new Complaint(page(findings, false), { hint: "Nothing was started." });
}
