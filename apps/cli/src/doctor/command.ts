// SPDX-License-Identifier: Apache-2.0
import { Command } from "commander";
import { statePaths } from "../state/paths.ts";
import { examine } from "./examine.ts";
import type { Finding } from "./finding.ts";
import { findSettledLeaks } from "./leaks/find.ts";
import { describe } from "./leaks/leak.ts";

interface Flags {
  json?: boolean;
  leaks?: boolean;
}

/** What is just being torn down may take this long to go. */
const SETTLE_MS = 10_000;

export function doctorCommand(): Command {
  return new Command("doctor")
    .description("can this machine fork? each missing piece with its remedy; exit code 1 when it cannot")
    .option("--json", "as one JSON document")
    .option("--leaks", "instead look for what sandboxes have left on this host; exit code 1 when there is any")
    .action((flags: Flags) => (flags.leaks === true ? leaks(flags.json === true) : health(flags.json === true)));
}

async function health(json: boolean): Promise<void> {
  const findings = await examine(statePaths(), process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate");
  const able = findings.every((finding) => finding.status !== "fail");
  process.stdout.write(json ? `${JSON.stringify({ able, findings })}\n` : page(findings, able));
  if (!able) process.exitCode = 1;
}

/** One page: a line per check, remedies below the ones that need them. */
export function page(findings: readonly Finding[], able: boolean): string {
  const sign = { ok: "✓", warn: "!", fail: "✗" } as const;
  const width = Math.max(...findings.map((finding) => finding.name.length));
  const lines = findings.flatMap(({ status, name, detail, remedy }) => [
    `  ${sign[status]} ${name.padEnd(width)}  ${detail}`,
    ...(remedy === undefined ? [] : [`    ${" ".repeat(width)}  → ${remedy}`]),
  ]);
  return `${lines.join("\n")}\n\n${able ? "This machine can fork." : "This machine cannot fork: see the lines marked ✗."}\n`;
}

async function leaks(json: boolean): Promise<void> {
  const found = await findSettledLeaks(statePaths(), SETTLE_MS);
  if (json) process.stdout.write(`${JSON.stringify({ leaks: found.map(({ kind, name, detail }) => ({ kind, name, detail })) })}\n`);
  else
    process.stdout.write(
      found.length === 0 ? "Nothing is left over.\n" : `Left over:\n${found.map((leak) => `  ${describe(leak)}\n`).join("")}`,
    );
  if (found.length > 0) process.exitCode = 1;
}
