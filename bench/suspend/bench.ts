// SPDX-License-Identifier: Apache-2.0
/** `bench suspend`: suspend, and resume with no holder (a cold load, as after a while or a restart) and with one (as for a create). */
import { isolationOf } from "../engine/isolation.ts";
import type { Laboratory } from "../engine/laboratory.ts";
import { Samples } from "../measure/samples.ts";
import type { BenchOptions } from "../options.ts";
import type { Measured } from "../report/result.ts";

export async function benchSuspend(laboratory: Laboratory, { runs }: BenchOptions): Promise<Measured> {
  const samples = new Samples();
  const [sandbox, witness] = [await laboratory.create(), await laboratory.create()];
  const isolation = await isolationOf(laboratory, sandbox, witness);
  const { engine } = laboratory.bare;
  for (let run = 0; run < runs; run++) {
    for (const resident of [false, true]) {
      let snapshot = "";
      const suspended = await laboratory.cpu.of(async () => (snapshot = await laboratory.suspend(sandbox)));
      if (resident) await engine.loadHolder(snapshot);
      const resumed = await laboratory.cpu.of(() => laboratory.resume(sandbox, snapshot));
      await laboratory.ask(sandbox);
      const how = resident ? "holder resident" : "holder evicted";
      samples.add("ms", {
        "suspend, wall": suspended.wallMs,
        "suspend, cpu": suspended.cpuMs,
        [`resume, ${how}, wall`]: resumed.wallMs,
        [`resume, ${how}, cpu`]: resumed.cpuMs,
      });
    }
  }
  await laboratory.remove([sandbox, witness]);
  return {
    bench: "suspend",
    subject: laboratory.subject.name,
    n: 1,
    runs,
    isolation,
    figures: samples.figures(),
    targets: [
      { name: "suspend, wall", measured: samples.median("suspend, wall"), bound: { atMost: 300 } },
      { name: "resume, holder resident, wall", measured: samples.median("resume, holder resident, wall"), bound: { atMost: 40 } },
    ],
    skipped: [],
    notes: ["images lie on the state folder's file system"],
  };
}
