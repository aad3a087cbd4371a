// SPDX-License-Identifier: Apache-2.0
/** Memory after a fork behaves as after a plain fork, whatever gives it out and takes it back. */
import { describe, expect, test } from "vitest";
import { Sandbox } from "./engine/sandbox.ts";
import { expectTrueOver, startProgram, type Scenario } from "./scenario.ts";

const full = process.env["COLLIMATE_TEST_FULL"] === "1";
const FORKS = full ? 200 : 20;
const LIMIT_MS = full ? 1_800_000 : 240_000;

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
  ["torch", { program: "pytorch.py", image: "pytorch-cpu" }],
];

describe(`over ${FORKS} forks of children, grandchildren and parents that were forked, suspended and resumed before`, () => {
  test.each(PROGRAMS)("is what %s takes it for", (_, scenario) => expectTrueOver(FORKS, scenario), LIMIT_MS);
});

test("fails the same checks on a private mapping of a file", async () => {
  await using sandbox = await Sandbox.create();
  await startProgram(sandbox, { program: "memory.c" });
  const control = await sandbox.exec({ command: "cd /tmp/truth && rm -f verdict && ./program control" });
  expect(control.exitCode).toBe(1);
  expect(control.stderr).toContain("at[i] == 0");
});
