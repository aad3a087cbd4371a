// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { chown, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { privateDirectory, serviceAccount, serviceDirectory } from "../account.ts";
import { freePort } from "../port.ts";
import { findProgram, SERVICE_ENV } from "../process/program.ts";
import { POLITE_STOP } from "../process/stop.ts";
import { startService, withFreePort } from "../service.ts";
import type { Service, StartOptions } from "../service.ts";
import { ping } from "./ping.ts";

export type RedisOptions = StartOptions;

/** Starts the distribution's redis-server on 127.0.0.1 with a password and an append-only file. */
export async function startRedis(options: RedisOptions): Promise<Service> {
  const dir = resolve(options.dir);
  const [program, account] = await Promise.all([findProgram("redis-server", "redis-server"), serviceAccount()]);
  await serviceDirectory(dir, account);
  const data = await privateDirectory(join(dir, "data"), account);
  const password = await passwordIn(join(dir, "password"));
  const config = join(dir, "redis.conf");

  return withFreePort(options.port, freePort, async (port) => {
    await writeFile(config, configuration(port, data, password), { mode: 0o600 });
    if (account !== undefined) await chown(config, account.uid, account.gid);
    return startService(
      {
        name: "redis",
        url: `redis://:${password}@127.0.0.1:${port}/0`,
        port,
        spec: { argv: [program, config], cwd: data, env: SERVICE_ENV, account },
        stopSteps: POLITE_STOP,
        probe: () => ping(port, password),
      },
      { ...options, dir },
    );
  });
}

function configuration(port: number, data: string, password: string): string {
  return [
    "bind 127.0.0.1",
    `port ${port}`,
    `requirepass ${password}`,
    "daemonize no",
    `dir "${data}"`,
    "appendonly yes",
    "appendfsync everysec",
    'save ""',
    // Queues live here: a full Redis must refuse, never drop a job.
    "maxmemory-policy noeviction",
    'logfile ""',
    "",
  ].join("\n");
}

async function passwordIn(file: string): Promise<string> {
  const known = await readFile(file, "utf8").catch(() => "");
  if (known.trim() !== "") return known.trim();
  const password = randomBytes(24).toString("base64url");
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  return password;
}
