// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { bakeCommand } from "./bake/command.ts";
import { benchCommand } from "./bench/command.ts";
import { doctorCommand } from "./doctor/command.ts";
import { downCommand } from "./down/command.ts";
import { execCommand } from "./exec/command.ts";
import { forkCommand } from "./fork/command.ts";
import { keyCommand } from "./key/command.ts";
import { quickstartCommand } from "./quickstart/command.ts";
import { snapshotCommand } from "./snapshot/command.ts";
import { statusCommand } from "./status/command.ts";
import { tenantCommand } from "./tenant/command.ts";
import { testCommand } from "./test/command.ts";
import { upCommand } from "./up/command.ts";
import { usageCommand } from "./usage/command.ts";

/** The whole command line. */
export function commandLine(): Command {
  const collimate = new Command("collimate").exitOverride().showSuggestionAfterError();
  // One text for the launcher, which shows it before anything is installed, and for us.
  collimate.helpInformation = () => readFileSync(join(import.meta.dirname, "..", "help.txt"), "utf8");
  const commands = [
    quickstartCommand(),
    testCommand(),
    upCommand(),
    downCommand(),
    statusCommand(),
    doctorCommand(),
    bakeCommand(),
    execCommand(),
    forkCommand(),
    usageCommand(),
    benchCommand(),
    snapshotCommand(),
    tenantCommand(),
    keyCommand(),
  ];
  for (const command of commands) collimate.addCommand(command.copyInheritedSettings(collimate));
  return collimate;
}
