// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { Complaint } from "../complaint.ts";
import { runLogged } from "../process/run-logged.ts";
import { repositoryRoot } from "../repository.ts";
import { readEndpoints } from "../state/endpoints.ts";
import type { StatePaths } from "../state/paths.ts";
import { step } from "../terminal/progress.ts";
import type { Step } from "../terminal/progress.ts";

/** A download of PyTorch over a slow line takes its time. */
const BUILD_LIMIT_MS = 1_800_000;

/** Builds a catalog image when it is not built yet and pushes it to our registry; gives its reference by digest. */
export async function pushCatalogImage(
  name: string,
  registryHost: string,
  tools: string,
  progress: Step,
  signal: AbortSignal,
): Promise<string> {
  let reference = "";
  await runLogged({
    name: `the image ${name}`,
    argv: ["/bin/bash", join(repositoryRoot(), "infra", "images", "push.sh"), name, registryHost, join(tools, "images")],
    cwd: "/",
    log: join(tools, "logs", `image-${name}.log`),
    limitMs: BUILD_LIMIT_MS,
    signal,
    onLine: (line, stream) => {
      if (stream === "stdout") reference = line.trim();
      else progress.note(line);
    },
  });
  if (!/@sha256:[0-9a-f]{64}$/.test(reference)) throw new Complaint(`the image ${name} was pushed, but no digest was told`);
  return reference;
}

/** The same with the registry of a platform that runs. */
export async function ownImage(name: string, paths: StatePaths, tools: string, signal: AbortSignal): Promise<string> {
  const registry = (await readEndpoints(paths))["registry"];
  if (registry === undefined) throw new Error("the registry is not started");
  return step(`image ${name}`, (progress) => pushCatalogImage(name, new URL(registry.url).host, tools, progress, signal));
}
