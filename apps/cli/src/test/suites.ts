// SPDX-License-Identifier: Apache-2.0
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

export interface Suite {
  /** As the user can select it: `packages/db`, `static checks`. */
  name: string;
  kind: "vitest" | "pytest" | "script";
  directory: string;
  /** Of kind "script": a script of the root package.json, one "test" that passes when it exits with 0. */
  script?: string;
}

const manifestSchema = z.looseObject({ scripts: z.record(z.string(), z.string()).default({}) });

/** Folders whose subfolders are workspace packages, and workspace packages themselves. */
const GROUPS = ["packages", "apps", "tests"];
const SINGLES = ["tooling", "docs", "bench"];

/** All suites of the repository, those that need least first. */
export async function findSuites(root: string): Promise<Suite[]> {
  const directories: string[] = [];
  directories.push(...SINGLES);
  for (const group of GROUPS) {
    const names = await readdir(join(root, group)).catch(() => []);
    directories.push(...names.toSorted((a, b) => a.localeCompare(b)).map((name) => join(group, name)));
  }

  const suites: Suite[] = [];
  const scripts = await scriptsOf(join(root, "package.json"));
  if ("build" in scripts) suites.push({ name: "build", kind: "script", directory: root, script: "build" });
  if ("check" in scripts) suites.push({ name: "static checks", kind: "script", directory: root, script: "check" });
  for (const name of directories) {
    const directory = join(root, name);
    if ((await scriptsOf(join(directory, "package.json")))["test"]?.startsWith("vitest") === true)
      suites.push({ name, kind: "vitest", directory });
    const pyproject = await readFile(join(directory, "pyproject.toml"), "utf8").catch(() => "");
    if (pyproject.includes("[tool.pytest")) suites.push({ name, kind: "pytest", directory });
  }
  return suites;
}

async function scriptsOf(manifest: string): Promise<Record<string, string>> {
  const text = await readFile(manifest, "utf8").catch(() => undefined);
  return text === undefined ? {} : manifestSchema.parse(JSON.parse(text)).scripts;
}
