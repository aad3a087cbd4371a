// SPDX-License-Identifier: Apache-2.0
/** `bench chain`: forks in a row of one parent, and generations of children's children. The last must cost what the first cost. */
import { isolationOf, type Isolation } from "../engine/isolation.ts";
import type { Laboratory } from "../engine/laboratory.ts";
import { median, Samples } from "../measure/samples.ts";
import type { BenchOptions } from "../options.ts";
import type { Measured } from "../report/result.ts";

const WIDTH = 4;
/** Links at either end whose medians are compared: one alone may be an accident. */
const END = 5;

interface Link {
  readonly cpuMs: number;
  readonly pauseMs: number;
}

export async function benchChain(laboratory: Laboratory, { depth, runs }: BenchOptions, tell: (line: string) => void): Promise<Measured> {
  const samples = new Samples();
  let isolation: Isolation = {};
  for (let run = 1; run <= runs; run++) {
    for (const way of ["in a row", "generation"] as const) {
      tell(`run ${run} of ${runs}: ${depth} forks, ${way}`);
      const links: Link[] = [];
      isolation = await chain(laboratory, way, depth, links);
      const cpu = links.map(({ cpuMs }) => cpuMs);
      samples.add("ms", {
        [`${way}: first forks, cpu`]: median(cpu.slice(0, END)),
        [`${way}: last forks, cpu`]: median(cpu.slice(-END)),
        [`${way}: worst fork, cpu`]: Math.max(...cpu),
        [`${way}: last forks, pause`]: median(links.slice(-END).map(({ pauseMs }) => pauseMs)),
      });
      samples.add("ratio", { [`${way}: last to first, cpu`]: median(cpu.slice(-END)) / median(cpu.slice(0, END)) });
    }
  }
  const ratio = (name: string) => ({ name, measured: samples.median(name), bound: { atMost: 1.3 } });
  return {
    bench: "chain",
    subject: laboratory.subject.name,
    n: depth,
    runs,
    isolation,
    figures: samples.figures(),
    targets: [ratio("in a row: last to first, cpu"), ratio("generation: last to first, cpu")],
    skipped: [],
    notes: [`each fork makes ${WIDTH} children; the one forked writes 1 MB before`],
  };
}

/** Lives on: the parent, or the first child of each fork; all others end at once, their parent as soon as it has children. */
async function chain(laboratory: Laboratory, way: "in a row" | "generation", depth: number, links: Link[]): Promise<Isolation> {
  let current = await laboratory.create();
  let isolation: Isolation = {};
  try {
    // The first fork is another for the parent that came from the template: it is not part of the comparison.
    for (let link = 0; link <= depth; link++) {
      await laboratory.run(current, { code: laboratory.subject.writeLittle });
      let forked: Awaited<ReturnType<Laboratory["fork"]>> | undefined;
      const cost = await laboratory.cpu.of(async () => (forked = await laboratory.fork(current, WIDTH)));
      const children = forked?.children.map(({ sandboxId }) => sandboxId) ?? [];
      if (link > 0) links.push({ cpuMs: cost.cpuMs, pauseMs: forked?.pauseMs ?? 0 });
      if (link === depth) isolation = await isolationOf(laboratory, children[0] ?? "", children[1] ?? "");
      const [next = current, ...others] = way === "generation" ? children : [current, ...children];
      await laboratory.remove(next === current ? others : [...others, current]);
      current = next;
    }
    await laboratory.ask(current);
    return isolation;
  } finally {
    await laboratory.remove([current]);
  }
}
