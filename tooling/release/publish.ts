// SPDX-License-Identifier: Apache-2.0
/** Publishes one SDK: `node tooling/release/publish.ts packages/sdk|packages/sdk-python [--dry-run]`. Credentials are npm's and twine's own. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");
const STEP_LIMIT_MS = 600_000;

type Step = readonly [program: string, ...args: string[]];
const STEPS: Readonly<Record<string, readonly Step[]>> = {
  "packages/sdk": [
    ["pnpm", "run", "build"],
    ["pnpm", "publish", "--access", "public", "--no-git-checks"],
  ],
  // The release's own environment has `build` and `twine`; the checks need neither.
  "packages/sdk-python": [
    ["python3", "-m", "build", "--outdir", "dist"],
    ["python3", "-m", "twine", "upload", "--non-interactive", "dist/*"],
  ],
};

const [folder = "", ...flags] = process.argv.slice(2);
const steps = STEPS[folder];
if (!steps) {
  console.error(`usage: node tooling/release/publish.ts ${Object.keys(STEPS).join("|")} [--dry-run]`);
  process.exit(2);
}
// nx says it in its own way.
const dryRun = flags.includes("--dry-run") || flags.includes("--dryRun=true");
// Nothing that an earlier release built may go out with this one.
if (!dryRun) rmSync(join(ROOT, folder, "dist"), { recursive: true, force: true });
for (const [program, ...args] of steps) {
  console.log(`${dryRun ? "would run" : "running"} in ${folder}: ${[program, ...args].join(" ")}`);
  if (dryRun) continue;
  const { status, error } = spawnSync(program, args, { cwd: join(ROOT, folder), stdio: "inherit", timeout: STEP_LIMIT_MS });
  if (status !== 0) {
    console.error(`${folder} was not published: ${program} ${error ? error.message : `gave ${status}`}`);
    process.exit(1);
  }
}
