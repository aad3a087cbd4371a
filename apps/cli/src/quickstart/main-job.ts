// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runLogged } from "../process/run-logged.ts";
import { repositoryRoot } from "../repository.ts";
import type { Profile } from "../state/profile.ts";
import { printable, say, step } from "../terminal/progress.ts";
import type { ChildMemoryWatch } from "./child-memory.ts";
import { reportSchema } from "./report.ts";
import type { Report } from "./report.ts";

export interface MainJob {
  environment: string;
  profile: Profile;
  image: string;
  width: number;
  problems: number;
  /** Logs and the report. */
  folder: string;
}

const LIMIT_MS = 3_600_000;

/** Runs examples/grpo_quickstart.py as a user would, and adds what only the host can see to its report. */
export async function runMainJob(job: MainJob, memory: ChildMemoryWatch, signal: AbortSignal): Promise<Report> {
  const file = join(job.folder, "quickstart.json");
  const root = repositoryRoot();
  let inTable = false;
  await step("bake, fork, grade", (progress) =>
    runLogged({
      name: "examples/grpo_quickstart.py",
      argv: [
        join(job.environment, "bin", "python"),
        join(root, "examples", "grpo_quickstart.py"),
        "--image",
        job.image,
        "--width",
        String(job.width),
        "--problems",
        String(job.problems),
        "--json",
        file,
      ],
      cwd: root,
      env: { ...process.env, COLLIMATE_API_KEY: job.profile.apiKey, COLLIMATE_BASE_URL: job.profile.url, PYTHONUNBUFFERED: "1" },
      log: join(job.folder, "quickstart.log"),
      limitMs: LIMIT_MS,
      signal,
      onLine: (line, stream) => {
        // Its own table starts after an empty line; ours, with the host's measurements, takes its place.
        inTable ||= stream === "stdout" && line === "";
        if (inTable) return;
        progress.note(line);
        if (stream === "stdout" && !process.stderr.isTTY) say(`    ${printable(line)}`);
      },
    }),
  );
  const report = reportSchema.parse(JSON.parse(await readFile(file, "utf8")));
  for (const row of [...report.problems, report.env]) {
    row.private_mib_per_child ??= memory.perChild(row.forked_at, row.ended_at, report.width);
  }
  return report;
}
