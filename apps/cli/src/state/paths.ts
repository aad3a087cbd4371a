// SPDX-License-Identifier: Apache-2.0
import { chmod, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

/** Everything that the one-machine platform keeps lies below one directory. */
export interface StatePaths {
  root: string;
  logs: string;
  run: string;
  agent: string;
  secrets: string;
  endpoints: string;
  hostSettings: string;
  profile: string;
  lock: string;
}

export function statePaths(root: string = process.env["COLLIMATE_STATE"] || "/var/lib/collimate"): StatePaths {
  const base = resolve(root);
  return {
    root: base,
    logs: join(base, "logs"),
    run: join(base, "run"),
    agent: join(base, "agent"),
    secrets: join(base, "secrets.json"),
    endpoints: join(base, "endpoints.json"),
    hostSettings: join(base, "host-settings.json"),
    profile: join(base, "profile.json"),
    lock: join(base, "lock.json"),
  };
}

export async function makeStateDirectories(paths: StatePaths): Promise<void> {
  await mkdir(paths.root, { recursive: true });
  await chmod(paths.root, 0o711); // the data services' account passes through to its own directories
  for (const dir of [paths.logs, paths.run, paths.agent]) await mkdir(dir, { recursive: true, mode: 0o700 });
}

export function recordPath(paths: StatePaths, part: string): string {
  return join(paths.run, `${part}.json`);
}

export function logPath(paths: StatePaths, part: string): string {
  return join(paths.logs, `${part}.log`);
}
