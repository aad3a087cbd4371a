// SPDX-License-Identifier: Apache-2.0
/** Runs floor.c: the kernel's own price of a fork into fresh namespaces. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Laboratory } from "../engine/laboratory.ts";
import type { Samples } from "../measure/samples.ts";

const run = promisify(execFile);
const MIB = 225;

/** Its exit, which ends the children, is in the CPU figure, as the children's end is not in ours: the floor is a little too high. */
export async function runFloor(laboratory: Laboratory, count: number, runs: number, into: Samples): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "collimate-floor-"));
  try {
    const program = join(folder, "floor");
    await run("gcc", ["-O2", "-Wall", "-Werror", "-o", program, join(import.meta.dirname, "floor.c")], { timeout: 60_000 });
    for (let at = 0; at < runs; at++) {
      // Building up the memory is not part of it: measured with one child, and taken off.
      const one = await laboratory.cpu.of(() => run(program, [String(MIB), "1"], { timeout: 60_000 }));
      let wall = "";
      const all = await laboratory.cpu.of(
        async () => (wall = (await run(program, [String(MIB), String(count + 1)], { timeout: 60_000 })).stdout),
      );
      into.add("ms", {
        "fork into fresh namespaces (floor), cpu each": (all.cpuMs - one.cpuMs) / count,
        "fork into fresh namespaces (floor), wall each": Number(wall) / (count + 1),
      });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
