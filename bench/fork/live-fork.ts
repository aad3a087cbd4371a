// SPDX-License-Identifier: Apache-2.0
/** Ours: a live parent, N children, each asked once. */
import { type Laboratory, RESOURCES } from "../engine/laboratory.ts";
import { limitsOf } from "@collimate/agent/bare-engine";
import { isolationOf, type Isolation } from "../engine/isolation.ts";
import { median, type Samples } from "../measure/samples.ts";

export interface LiveFork {
  /** Before each name of a figure. */
  readonly label: string;
  /** What the parent does between its birth and the fork. */
  readonly write: string;
  readonly width: number;
}

/** One run on a parent of its own, so that no run inherits what another wrote. */
export async function runLiveFork(laboratory: Laboratory, fork: LiveFork, into: Samples): Promise<Isolation> {
  const { cpu } = laboratory;
  const { label, width } = fork;
  const parent = await laboratory.create();
  let children: string[] = [];
  try {
    await laboratory.run(parent, { code: fork.write });
    let pauseMs = 0;
    const forked = await cpu.of(async () => {
      const result = await laboratory.fork(parent, width);
      pauseMs = result.pauseMs;
      children = result.children.map(({ sandboxId }) => sandboxId);
    });
    const born = await Promise.all(children.map((child) => laboratory.memory(child)));
    const answered = await cpu.of(() => Promise.all(children.map((child) => laboratory.ask(child))));
    const asked = await Promise.all(children.map((child) => laboratory.memory(child)));
    const ofChildren = (each: typeof born, key: "privateMiB" | "pageTablesMiB" | "vmas") => median(each.map((one) => one[key]));
    into.add("ms", {
      [`${label}: fork, cpu per child`]: forked.cpuMs / width,
      [`${label}: fork and first answer, cpu per child`]: (forked.cpuMs + answered.cpuMs) / width,
      [`${label}: call to last child runnable, wall`]: forked.wallMs,
      [`${label}: call to last first answer, wall`]: forked.wallMs + answered.wallMs,
      [`${label}: parent pause`]: pauseMs,
    });
    into.add("MiB", {
      [`${label}: private at birth, per child`]: ofChildren(born, "privateMiB"),
      [`${label}: private after a small exec, per child`]: ofChildren(asked, "privateMiB"),
      [`${label}: page tables, per child`]: ofChildren(born, "pageTablesMiB"),
    });
    into.add("count", { [`${label}: VMAs per child`]: ofChildren(born, "vmas") });
    return await isolationOf(laboratory, children[0] ?? "", children.at(-1) ?? "");
  } finally {
    await laboratory.remove([parent, ...children]);
  }
}

/** What is done before a burst and not at the fork: a slot's ids, control groups and folders. Prepared ones are used up first. */
export async function runSlotPreparation(laboratory: Laboratory, width: number, into: Samples): Promise<void> {
  const { slots } = laboratory.bare.engine;
  const limits = limitsOf(RESOURCES);
  const prepared = await slots.take(slots.prepared, limits);
  let made: typeof prepared = [];
  const cost = await laboratory.cpu.of(async () => (made = await slots.take(width, limits)));
  into.add("ms", { "slot preparation, cpu per slot": cost.cpuMs / width });
  await Promise.all([...prepared, ...made].map((slot) => slots.give(slot)));
  await slots.fill();
}
