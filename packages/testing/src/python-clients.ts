// SPDX-License-Identifier: Apache-2.0
/**
 * Pythons that have a client of the platform, each in a virtual environment that is made once for each machine: the
 * published one, as it is on PyPI (an input of tests, never a dependency), and ours, from this checkout's sources.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { toolsDirectory } from "@collimate/embedded";

export interface PythonClient {
  readonly python: string;
  /** To be set where it runs. */
  readonly env: Readonly<Record<string, string>>;
}

export const PUBLISHED_VERSION = "0.8.0";
const SDK = join(import.meta.dirname, "..", "..", "sdk-python");
const DEPENDENCIES = "import sys, tomllib; print('\\n'.join(tomllib.load(open(sys.argv[1], 'rb'))['project']['dependencies']))";
const run = promisify(execFile);

export async function publishedClient(): Promise<PythonClient> {
  return { python: await environment(`published-client-${PUBLISHED_VERSION}`, [`collimate-rl==${PUBLISHED_VERSION}`]), env: {} };
}

export async function ourClient(): Promise<PythonClient> {
  const project = join(SDK, "pyproject.toml");
  const hash = createHash("sha256")
    .update(await readFile(project))
    .digest("hex")
    .slice(0, 16);
  const { stdout } = await run("python3", ["-c", DEPENDENCIES, project]);
  return { python: await environment(`client-dependencies-${hash}`, stdout.trim().split("\n")), env: { PYTHONPATH: join(SDK, "src") } };
}

async function environment(name: string, install: readonly string[]): Promise<string> {
  const dir = join(toolsDirectory(), name);
  const done = join(dir, "complete");
  if (!(await stat(done).catch(() => undefined))) {
    await rm(dir, { recursive: true, force: true });
    await run("python3", ["-m", "venv", dir]);
    await run(join(dir, "bin/python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...install]);
    await mkdir(done);
  }
  return join(dir, "bin/python");
}
