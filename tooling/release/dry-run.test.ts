// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const LIMIT_MS = 60_000;
const run = (program: string, args: string[]) =>
  promisify(execFile)(program, args, { cwd: ROOT, timeout: LIMIT_MS, env: { ...process.env, NX_DAEMON: "false", NO_COLOR: "1" } });

it(
  "a release of both SDKs can be rehearsed, from a version on disk and without changing anything",
  async () => {
    const before = await run("git", ["status", "--porcelain"]);
    const { stdout } = await run("node_modules/.bin/nx", ["release", "--dry-run", "--skip-publish"]);
    expect(stdout).toMatch(/@collimate\/sdk .*current version as \S+ from manifest: packages\/sdk\/package\.json/);
    expect(stdout).toMatch(/collimate-rl .*current version as \S+ from manifest: packages\/sdk-python\/pyproject\.toml/);
    expect(stdout, "a changelog names no people").not.toMatch(/Thank You/i);
    expect((await run("git", ["status", "--porcelain"])).stdout).toBe(before.stdout);
  },
  LIMIT_MS,
);
