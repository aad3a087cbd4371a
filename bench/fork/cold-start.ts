// SPDX-License-Identifier: Apache-2.0
/** The way without forks: a fresh sandbox in which a new process imports the library and builds the working set. */
import type { Laboratory } from "../engine/laboratory.ts";
import type { Samples } from "../measure/samples.ts";

export async function runColdStart(laboratory: Laboratory, into: Samples): Promise<void> {
  let sandbox: string | undefined;
  try {
    const { build, ask } = laboratory.subject;
    const cost = await laboratory.cpu.of(async () => {
      sandbox = await laboratory.create();
      await laboratory.run(sandbox, { commands: [["python3", "-c", `${build}\n${ask}`]] });
    });
    into.add("ms", { "cold start, cpu": cost.cpuMs, "cold start, wall": cost.wallMs });
  } finally {
    if (sandbox) await laboratory.remove([sandbox]);
  }
}
