// SPDX-License-Identifier: Apache-2.0
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { probe } from "../src/index.ts";
import { criuPath } from "./world.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "probe-test-"));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function fake(script: string): Promise<string> {
  const path = join(directory, `fake-${Math.random()}`);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

test("criu works here, and the probe says how", async () => {
  const result = await probe({ path: criuPath(), limitMs: 3000, directory });
  expect(result).toMatchObject({ works: true, features: { pagemap_scan: true, clone3_set_tid: true, userns: true } });
  expect(result.version).toMatch(/^\d+\.\d+/);
});

test("a criu that is too old is refused", async () => {
  const result = await probe({ path: await fake('echo "Version: 4.1.1"') });
  expect(result).toMatchObject({ works: false, version: "4.1.1", reason: "criu 4.1.1 is older than 4.2.1" });
});

test("a criu without what is needed is refused", async () => {
  const script = 'case "$*" in --version) echo "Version: 4.10" ;; *pagemap_scan*) exit 1 ;; esac';
  const result = await probe({ path: await fake(script) });
  expect(result).toMatchObject({ works: false, reason: expect.stringContaining("criu does not find pagemap_scan in this kernel") });
});

test("a criu that hangs with breakpoints is used without", async () => {
  const script = `case "$*" in
    --version) echo "Version: 4.3" ;;
    dump*) [ "$CRIU_FAULT" = 130 ] || exec sleep 60 ;;
  esac`;
  const result = await probe({ path: await fake(script), limitMs: 300 });
  expect(result).toMatchObject({ works: true, program: { withoutBreakpoints: true } });
});

test("a criu that is not there is refused", async () => {
  const result = await probe({ path: "/nonexistent/criu" });
  expect(result).toMatchObject({ works: false, version: "" });
});
