// SPDX-License-Identifier: Apache-2.0
import { Command } from "commander";
import { requireRoot } from "../platform/root.ts";
import { statePaths } from "../state/paths.ts";
import { say } from "../terminal/progress.ts";
import { down } from "./down.ts";

export function downCommand(): Command {
  return new Command("down")
    .description("stop the platform and leave nothing running")
    .option("--purge", "remove its data as well: database, registry, snapshots, keys")
    .action(async (flags: { purge?: boolean }) => {
      requireRoot("down");
      const { stopped, settings, swept } = await down(statePaths(), flags.purge === true);
      for (const line of settings) say(`  ✓ ${line}`);
      for (const line of swept) say(`  ✓ removed what was left over: ${line}`);
      say(stopped.length === 0 ? "It was down already." : "It is down.");
    });
}
