// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { repositoryRoot } from "../repository.ts";
import { runSuite } from "./run-suite.ts";
import { findSuites } from "./suites.ts";

let dir: string;
beforeEach(async () => {
  // Inside the repository, so that a suite's file finds vitest.
  await mkdir(join(repositoryRoot(), "node_modules", ".cache"), { recursive: true });
  dir = await mkdtemp(join(repositoryRoot(), "node_modules", ".cache", "suite-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function run(source: string) {
  await writeFile(join(dir, "it.test.ts"), `import { expect, test } from "vitest";\n${source}`);
  await writeFile(join(dir, "vitest.config.ts"), 'export default { test: { include: ["*.test.ts"], exclude: [] } };');
  const context = {
    root: repositoryRoot(),
    tools: join(dir, "tools"),
    full: false,
    limitMs: 60_000,
    progress: { note: () => undefined },
    signal: new AbortController().signal,
  };
  return await runSuite({ name: "trial", kind: "vitest", directory: dir }, context);
}

test("passed, failed and skipped tests of a real run are counted", async () => {
  const { tally, tail } = await run('test("a", () => {}); test("b", () => { expect(1).toBe(2); }); test.skip("c", () => {});');
  expect(tally).toEqual({ passed: 1, failed: 1, skipped: 1 });
  expect(tail).toContain("expected 1 to be 2");
});

test("a suite whose file cannot be loaded has failed", async () => {
  const { tally } = await run('import "./missing.ts"; test("a", () => {});');
  expect(tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test("a suite whose process dies has failed", async () => {
  const { tally } = await run('test("a", () => { process.kill(process.ppid, "SIGKILL"); return new Promise(() => {}); });');
  expect(tally.failed).toBe(1);
});

test("this repository's own suites are found", async () => {
  const names = (await findSuites(repositoryRoot())).map((suite) => suite.name);
  expect(names).toEqual(expect.arrayContaining(["packages/embedded", "apps/cli", "packages/sdk-python", "static checks"]));
});
