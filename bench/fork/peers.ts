// SPDX-License-Identifier: Apache-2.0
/** Other people's ways that need more than this repository installs: each is named with the reason why it was not measured. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { Skipped } from "../report/result.ts";

const run = promisify(execFile);

export async function peersNotMeasured(): Promise<Skipped[]> {
  return [
    { way: "podman container restore", why: await podmanReason() },
    { way: "LazyFork 0.2.3", why: await lazyForkReason() },
  ];
}

async function podmanReason(): Promise<string> {
  if (!(await says("podman", ["--version"]))) return "podman is not installed (apt-get install podman criu)";
  const checked = await run("criu", ["check"], { timeout: 20_000 }).then(
    () => "",
    (error: unknown) => (error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error)),
  );
  if (checked === undefined || checked !== "")
    return `podman restores through the distribution's criu, whose own check fails here: ${checked ?? ""}`;
  return "this benchmark has no driver for it";
}

async function lazyForkReason(): Promise<string> {
  const version = /^Python 3\.(\d+)/.exec((await says("python3", ["--version"])) ?? "")?.[1];
  if (version === undefined || Number(version) < 12) return `it needs Python 3.12, this machine's python3 is 3.${version ?? "?"}`;
  const controllers = await readFile("/sys/fs/cgroup/cgroup.controllers", "utf8").catch(() => "");
  if (controllers.trim() === "") return "it needs control groups of version 2, this machine has version 1";
  return "this benchmark has no driver for it";
}

async function says(program: string, args: readonly string[]): Promise<string | undefined> {
  return run(program, [...args], { timeout: 10_000 }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}
