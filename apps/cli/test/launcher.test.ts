// SPDX-License-Identifier: Apache-2.0
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { identify } from "@collimate/embedded";
import { afterEach, beforeEach, expect, test } from "vitest";
import { repositoryRoot } from "../src/repository.ts";

const run = promisify(execFile);
const LAUNCHER = join(repositoryRoot(), "collimate");
const PROGRESS = join(repositoryRoot(), "infra", "host", "progress.sh");

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** What a user without anything but Debian's own programs has. */
function bare() {
  return { cwd: "/", env: { PATH: "/usr/bin:/bin", HOME: dir, COLLIMATE_TOOLS: join(dir, "tools") } };
}

/** A bash script that runs a step as the launcher does, with the traps that it sets. */
function withStep(command: string): string[] {
  const script = `set -euo pipefail; . "$1"; trap end_step EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; step "the step" "$2" ${command}`;
  return ["-c", script, "sh", PROGRESS, join(dir, "step.log")];
}

test("help and version need nothing and set nothing up, from anywhere and through a link", async () => {
  await symlink(LAUNCHER, join(dir, "collimate"));
  const { stdout: help } = await run(join(dir, "collimate"), ["help"], bare());
  expect(help).toBe(await readFile(join(repositoryRoot(), "apps", "cli", "help.txt"), "utf8"));
  const { stdout: version } = await run(LAUNCHER, ["--version"], bare());
  expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
  await expect(stat(join(dir, "tools"))).rejects.toThrow(/ENOENT/);
});

test("a step that fails ends the launcher with the end of its log on one page", async () => {
  const failed = run("/bin/bash", withStep("bash -c 'echo first; echo the cause >&2; exit 7'"), bare());
  await expect(failed).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/the step failed \(status 7\)[^]*first\n[^]*the cause[^]*step\.log/),
  });
});

test("a step that succeeds takes one line", async () => {
  const { stderr, stdout } = await run("/bin/bash", withStep("true"), bare());
  expect(stderr).toMatch(/^ {2}✓ the step \(\d s\)\n$/);
  expect(stdout).toBe("");
});

test("Ctrl-C during a step ends all that the step started", async () => {
  const launcher = spawn("/bin/bash", withStep("bash -c 'sleep 600 & echo $!; wait'"), { ...bare(), stdio: "ignore" });
  const log = join(dir, "step.log");
  await expect.poll(() => readFile(log, "utf8").catch(() => "")).toMatch(/^\d+\n/);
  const pid = Number(await readFile(log, "utf8"));
  expect(await identify(pid)).toBeDefined();
  launcher.kill("SIGINT");
  expect(await once(launcher, "exit")).toEqual([130, null]);
  await expect.poll(() => identify(pid)).toBeUndefined();
});
