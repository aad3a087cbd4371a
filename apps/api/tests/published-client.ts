// SPDX-License-Identifier: Apache-2.0
/** The published Python client, as it is on PyPI, in a virtual environment of its own: an input of tests, never a dependency. */
import { toolsDirectory } from "@collimate/embedded";
import { execFile } from "node:child_process";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const VERSION = "0.8.0";
/** All that a trainer does, printed as one JSON object. */
export const TRAINER = fileURLToPath(new URL("published_client.py", import.meta.url));
const run = promisify(execFile);

/** Runs Python with the client installed; made once for each machine. Gives what it printed, as JSON. */
export async function runPublishedClient(args: readonly string[], apiKey: string, url: string): Promise<unknown> {
  const python = await publishedPython();
  const { stdout } = await run(python, [...args], {
    env: { PATH: "/usr/bin:/bin", COLLIMATE_API_KEY: apiKey, COLLIMATE_BASE_URL: url },
    timeout: 280_000,
  });
  return JSON.parse(stdout);
}

async function publishedPython(): Promise<string> {
  const dir = join(toolsDirectory(), `published-client-${VERSION}`);
  const done = join(dir, "complete");
  if (!(await stat(done).catch(() => undefined))) {
    await rm(dir, { recursive: true, force: true });
    await run("python3", ["-m", "venv", dir]);
    await run(join(dir, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", `collimate-rl==${VERSION}`]);
    await mkdir(done);
  }
  return join(dir, "bin/python");
}
