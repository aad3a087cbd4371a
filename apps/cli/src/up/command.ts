// SPDX-License-Identifier: Apache-2.0
import { Command, InvalidArgumentError } from "commander";
import { interruptible } from "../interrupt.ts";
import { requireRoot } from "../platform/root.ts";
import { applyHostSettings } from "../platform/host-settings.ts";
import { statePaths } from "../state/paths.ts";
import { say } from "../terminal/progress.ts";
import { up } from "./up.ts";

interface Flags {
  json?: boolean;
  host: string;
  port?: number;
  tuneHost?: boolean;
}

export function upCommand(): Command {
  return new Command("up")
    .description("start the platform on this machine; prints its address and an API key")
    .option("--json", 'end with one line {"url", "apiKey"} on standard output')
    .option("--host <address>", "where the api listens", "127.0.0.1")
    .option("--port <number>", "the api's port (default: the last one used, else 8080, else a free one)", portNumber)
    .option("--tune-host", "change host-wide settings that shorten forks (doctor lists them); undone by `down`")
    .action(async (flags: Flags) => {
      requireRoot("up");
      const paths = statePaths();
      say("Starting Collimate");
      const { profile, started } = await interruptible((signal) => up(paths, { host: flags.host, port: flags.port }, signal));
      if (flags.tuneHost === true) for (const line of await applyHostSettings(paths)) say(`  ✓ ${line}`);
      say(started.length === 0 ? "It was up already." : "It is up.");
      if (flags.json === true) process.stdout.write(`${JSON.stringify(profile)}\n`);
      else
        process.stdout.write(
          `\n  address  ${profile.url}\n  API key  ${profile.apiKey}\n\nLogs: ${paths.logs}. Stop it with \`collimate down\`.\n`,
        );
    });
}

export function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new InvalidArgumentError("a port is a number from 1 to 65535");
  return port;
}
