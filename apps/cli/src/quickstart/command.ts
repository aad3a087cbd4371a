// SPDX-License-Identifier: Apache-2.0
import { writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import { interruptible } from "../interrupt.ts";
import { requireRoot } from "../platform/root.ts";
import { statePaths } from "../state/paths.ts";
import { say } from "../terminal/progress.ts";
import { quickstart } from "./quickstart.ts";
import { render } from "./report.ts";

interface Flags {
  width: number;
  problems: number;
  image?: string;
  keep?: boolean;
  json?: string;
}

export function quickstartCommand(): Command {
  return new Command("quickstart")
    .description("set up, start, bake a template, fork it and grade candidates in the forks, show the figures, stop")
    .option("--width <n>", "children per problem", positive, 64)
    .option("--problems <n>", "HumanEval problems", positive, 5)
    .option("--image <ref>", "an OCI image by digest in place of the catalog's pytorch-cpu")
    .option("--keep", "leave the platform running")
    .option("--json <file>", "write the figures there too")
    .action(async (flags: Flags) => {
      requireRoot("quickstart");
      const { width, problems, image, keep = false } = flags;
      const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
      const { report, leftRunning } = await interruptible((signal) =>
        quickstart(statePaths(), { width, problems, image, keep, tools }, signal),
      );
      process.stdout.write(`\n${render(report)}\n\n`);
      if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(report, null, 2)}\n`);
      say(leftRunning ? "The platform is still up: `collimate down` stops it." : "Everything is stopped; nothing is left.");
    });
}

export function positive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError("a whole number from 1 on");
  return number;
}
