// SPDX-License-Identifier: Apache-2.0
/** Memory after a fork behaves as after a plain fork, whatever gives it out and takes it back. */
import { often } from "@collimate/testing/full";
import { describe, expect, test } from "vitest";
import { STAGED } from "./engine/images.ts";
import { Sandbox } from "./engine/sandbox.ts";
import { anonymousBytes, mappedOtherwise } from "./mappings.ts";
import { askOver, startProgram, type Scenario, type Tally } from "./scenario.ts";

/** Of each program; `collimate bench truth` says how many. */
const FORKS = Number(process.env["COLLIMATE_TRUTH_FORKS"] ?? often(20, 200));
const LIMIT_MS = 120_000 + 12_000 * FORKS;

declare module "vitest" {
  interface TaskMeta {
    truth?: Tally;
  }
}

const PROGRAMS: [what: string, scenario: Scenario][] = [
  ["madvise, mremap and realloc", { program: "memory.c" }],
  ["musl", { program: "allocator.c", image: "truth-programs", compiler: "musl-gcc" }],
  ["glibc", { program: "allocator.c" }],
  ["jemalloc", { program: "allocator.c", before: "LD_PRELOAD=libjemalloc.so.2" }],
  ["mimalloc", { program: "allocator.c", before: "LD_PRELOAD=libmimalloc.so.2" }],
  ["tcmalloc", { program: "allocator.c", before: "LD_PRELOAD=libtcmalloc_minimal.so.4" }],
  ["redis-server", { program: "redis.py" }],
  ["node", { program: "node.py" }],
  ["Python and numpy", { program: "numpy_memory.py" }],
  ["Go", { program: "memory.go", image: "truth-programs" }],
  ["the JVM", { program: "Memory.java", image: "truth-programs" }],
  ["Chromium", { program: "chromium.py", image: "truth-programs" }],
  ["torch", { program: "pytorch.py", image: "pytorch-cpu", before: "OMP_WAIT_POLICY=PASSIVE" }],
];

describe(`over ${FORKS} forks of children, grandchildren and parents that were forked, suspended and resumed before`, () => {
  for (const [what, scenario] of PROGRAMS.filter(([, { image = "truth" }]) => STAGED.includes(image)))
    test(
      `is what ${what} takes it for`,
      async ({ task }) => {
        const tally = await askOver(FORKS, scenario);
        task.meta.truth = tally;
        expect(tally.complaints).toEqual([]);
      },
      LIMIT_MS,
    );
});

test("fails the same checks on a private mapping of a file", async () => {
  await using sandbox = await Sandbox.create();
  await startProgram(sandbox, { program: "memory.c" });
  const control = await sandbox.exec({ command: "cd /tmp/truth && rm -f verdict && ./program control" });
  expect(control.exitCode).toBe(1);
  expect(control.stderr).toContain("at[i] == 0");
});

test("is anonymous in every child where it was anonymous in the parent, and of no file that the parent does not map", async () => {
  await using parent = await Sandbox.create();
  await startProgram(parent, { program: "allocator.c", before: "LD_PRELOAD=libjemalloc.so.2" });
  const before = await parent.maps();
  const [program] = before.toSorted((one, other) => anonymousBytes(other.text) - anonymousBytes(one.text));
  expect(anonymousBytes(program?.text ?? "")).toBeGreaterThan(64 << 20);
  const children = await parent.fork(8);
  const grandchildren = (await children[0]?.fork(2)) ?? [];
  await parent.suspendAndResume();
  for (const sandbox of [...children, ...grandchildren, parent]) {
    const now = new Map((await sandbox.maps()).map(({ pid, text }) => [pid, text]));
    expect(now.has(program?.pid ?? 0)).toBe(true);
    // A supervisor of an exec may have come to its end meanwhile.
    const wrong = before.flatMap(({ pid, text }) =>
      mappedOtherwise(text, now.get(pid) ?? text).map((region) => `process ${pid}: ${region}`),
    );
    expect(wrong).toEqual([]);
  }
});
