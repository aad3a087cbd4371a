// SPDX-License-Identifier: Apache-2.0
/** `bench exec`: a round trip at the agent, one at a time, of a command and of a cell. */
import { isolationOf } from "../engine/isolation.ts";
import type { Laboratory } from "../engine/laboratory.ts";
import { Samples } from "../measure/samples.ts";
import type { BenchOptions } from "../options.ts";
import type { Measured } from "../report/result.ts";

const PER_RUN = 100;

export async function benchExec(laboratory: Laboratory, { runs }: BenchOptions): Promise<Measured> {
  const samples = new Samples();
  const [sandbox, witness] = [await laboratory.create(), await laboratory.create()];
  const isolation = await isolationOf(laboratory, sandbox, witness);
  const ways = {
    "a cell": { code: "pass" },
    "a command (argv)": { commands: [["/bin/true"]] },
    "a command (shell)": { command: "true" },
  };
  for (let run = 0; run < runs; run++) {
    for (const [name, request] of Object.entries(ways)) {
      const walls: number[] = [];
      const cost = await laboratory.cpu.of(async () => {
        for (let at = 0; at < PER_RUN; at++) {
          const begun = performance.now();
          await laboratory.run(sandbox, request);
          walls.push(performance.now() - begun);
        }
      });
      samples.add("ms", { [`${name}, wall`]: walls.toSorted((a, b) => a - b)[PER_RUN / 2] ?? 0, [`${name}, cpu`]: cost.cpuMs / PER_RUN });
    }
  }
  await laboratory.remove([sandbox, witness]);
  return {
    bench: "exec",
    subject: laboratory.subject.name,
    n: PER_RUN,
    runs,
    isolation,
    figures: samples.figures(),
    targets: Object.keys(ways).map((name) => ({ name: `${name}, wall`, measured: samples.median(`${name}, wall`), bound: { atMost: 3 } })),
    skipped: [],
    notes: [`each sample of wall is the median of ${PER_RUN} round trips`],
  };
}
