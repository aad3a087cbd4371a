// SPDX-License-Identifier: Apache-2.0
/** Other people's ways, on the same subject in the same run. Where one cannot be had or does not work, the reason stands in the result. */
import type { Laboratory } from "../../engine/laboratory.ts";
import { Samples } from "../../measure/samples.ts";
import type { BenchOptions } from "../../options.ts";
import type { Skipped } from "../../report/result.ts";
import { measureLazyFork } from "./lazyfork.ts";
import { measurePodman } from "./podman.ts";

type Measure = (laboratory: Laboratory, options: BenchOptions, into: Samples, tell: (line: string) => void) => Promise<void>;

const PEERS: Readonly<Record<string, Measure>> = {
  "podman container restore": measurePodman,
  "LazyFork 0.2.3": measureLazyFork,
};

export async function runPeers(
  laboratory: Laboratory,
  options: BenchOptions,
  into: Samples,
  tell: (line: string) => void,
): Promise<Skipped[]> {
  const skipped: Skipped[] = [];
  for (const [way, measure] of Object.entries(PEERS)) {
    laboratory.throwIfInterrupted();
    tell(way);
    const samples = new Samples();
    try {
      await measure(laboratory, options, samples, tell);
      into.take(samples);
    } catch (error) {
      laboratory.throwIfInterrupted();
      // Half of its runs would be compared with all of ours.
      skipped.push({ way, why: reasonOf(error) });
    }
  }
  return skipped;
}

/** The line that says most: what the program wrote last, not the command that we ran. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = "stderr" in error && typeof error.stderr === "string" ? error.stderr.trim().split("\n").at(-1) : undefined;
  return (said || error.message).replaceAll(/\s+/g, " ").trim().slice(0, 300);
}
