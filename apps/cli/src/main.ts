// SPDX-License-Identifier: Apache-2.0
import { CommanderError } from "commander";
import { Complaint } from "./complaint.ts";
import { commandLine } from "./command-line.ts";
import { say } from "./terminal/progress.ts";

try {
  await commandLine().parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}

/** Tells a person what went wrong; gives the exit code. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode; // commander has said it already
  if (error instanceof Complaint) {
    say(`\n✗ ${error.message}`);
    if (error.hint !== undefined) say(`  ${error.hint}`);
    if (process.env["COLLIMATE_DEBUG"] !== undefined) console.error(error);
    return error.exitCode;
  }
  console.error(error);
  return 70; // EX_SOFTWARE: a fault of ours
}
