// SPDX-License-Identifier: Apache-2.0
/** `bench create`: a sandbox from a template whose holder is resident, as the agent sees it. */
import { isolationOf } from "../engine/isolation.ts";
import type { Laboratory } from "../engine/laboratory.ts";
import { Samples } from "../measure/samples.ts";
import type { BenchOptions } from "../options.ts";
import type { Measured } from "../report/result.ts";

const PER_RUN = 10;

export async function benchCreate(laboratory: Laboratory, { runs }: BenchOptions): Promise<Measured> {
  const samples = new Samples();
  const witness = await laboratory.create();
  const first = await laboratory.create();
  const isolation = await isolationOf(laboratory, first, witness);
  await laboratory.remove([first]);
  for (let run = 0; run < runs * PER_RUN; run++) {
    let id = "";
    const created = await laboratory.cpu.of(async () => (id = await laboratory.create()));
    const answered = await laboratory.cpu.of(() => laboratory.ask(id));
    const ended = await laboratory.cpu.of(() => laboratory.remove([id]));
    samples.add("ms", {
      "create, wall": created.wallMs,
      "create, cpu": created.cpuMs,
      "create and first answer, wall": created.wallMs + answered.wallMs,
      "delete, wall": ended.wallMs,
      "delete, cpu": ended.cpuMs,
    });
  }
  await laboratory.remove([witness]);
  return {
    bench: "create",
    subject: laboratory.subject.name,
    n: PER_RUN,
    runs,
    isolation,
    figures: samples.figures(),
    targets: [{ name: "create, wall", measured: samples.median("create, wall"), bound: { atMost: 40 } }],
    skipped: [],
    notes: ["one at a time; the template holds the whole working set"],
  };
}
