// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { down } from "../down/down.ts";
import { sdkEnvironment } from "../python/environment.ts";
import { ownImage } from "../quickstart/catalog-image.ts";
import type { StatePaths } from "../state/paths.ts";
import { step } from "../terminal/progress.ts";
import { up } from "../up/up.ts";
import { CATALOG, runBench } from "./program.ts";
import type { BenchFlags } from "./program.ts";

/** The fork from the call at the SDK: on the platform that runs here, or on one that is started for it and stopped after it. */
export async function benchForkAtSdk(paths: StatePaths, tools: string, flags: BenchFlags, signal: AbortSignal): Promise<boolean> {
  const { profile, started } = await up(paths, { host: "127.0.0.1", port: undefined }, signal);
  try {
    const image = flags.image ?? (await ownImage(CATALOG[flags.subject], paths, tools, signal));
    const environment = await step("Python SDK", (progress) => sdkEnvironment(tools, progress, signal));
    const program = {
      bench: "fork",
      tools,
      state: join(paths.root, "bench"),
      image,
      python: join(environment, "bin", "python"),
      env: { COLLIMATE_API_KEY: profile.apiKey, COLLIMATE_BASE_URL: profile.url },
    };
    return await runBench(program, flags, signal);
  } finally {
    if (started.length > 0) await down(paths, false);
  }
}
