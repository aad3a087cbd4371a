// SPDX-License-Identifier: Apache-2.0
/** The published Python client, as it is on PyPI, in a virtual environment of its own: an input of tests, never a dependency. */
import { execFile } from "node:child_process";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { toolsDirectory } from "@collimate/embedded";

export const PUBLISHED_VERSION = "0.8.0";
const run = promisify(execFile);

/** Path of a Python that has the client; the environment is made once for each machine. */
export async function publishedClientPython(): Promise<string> {
  const dir = join(toolsDirectory(), `published-client-${PUBLISHED_VERSION}`);
  const done = join(dir, "complete");
  if (!(await stat(done).catch(() => undefined))) {
    await rm(dir, { recursive: true, force: true });
    await run("python3", ["-m", "venv", dir]);
    await run(join(dir, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", `collimate-rl==${PUBLISHED_VERSION}`]);
    await mkdir(done);
  }
  return join(dir, "bin/python");
}
