// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { doctorCommand } from "./doctor/command.ts";
import { downCommand } from "./down/command.ts";
import { quickstartCommand } from "./quickstart/command.ts";
import { statusCommand } from "./status/command.ts";
import { testCommand } from "./test/command.ts";
import { upCommand } from "./up/command.ts";

/** The whole command line. */
export function commandLine(): Command {
  const collimate = new Command("collimate").exitOverride().showSuggestionAfterError();
  // One text for the launcher, which shows it before anything is installed, and for us.
  collimate.helpInformation = () => readFileSync(join(import.meta.dirname, "..", "help.txt"), "utf8");
  for (const command of [quickstartCommand(), testCommand(), upCommand(), downCommand(), statusCommand(), doctorCommand()]) {
    collimate.addCommand(command.copyInheritedSettings(collimate));
  }
  return collimate;
}
