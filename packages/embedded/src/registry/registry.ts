// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { chown, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { privateDirectory, serviceAccount, serviceDirectory } from "../account.ts";
import { freePort } from "../port.ts";
import { findProgram, SERVICE_ENV } from "../process/program.ts";
import { POLITE_STOP } from "../process/stop.ts";
import { startService, withFreePort } from "../service.ts";
import type { Service, StartOptions } from "../service.ts";

export interface Registry extends Service {
  /** `127.0.0.1:PORT`: what stands before the repository in an image reference. Speaks plain HTTP. */
  readonly host: string;
}

/** Starts the distribution's docker-registry on 127.0.0.1 (plain HTTP, deletion allowed). */
export async function startRegistry(options: StartOptions): Promise<Registry> {
  const dir = resolve(options.dir);
  const [program, account] = await Promise.all([findProgram("docker-registry", "docker-registry"), serviceAccount()]);
  await serviceDirectory(dir, account);
  const data = await privateDirectory(join(dir, "data"), account);
  const config = join(dir, "config.json");

  const service = await withFreePort(options.port, freePort, async (port) => {
    await writeFile(config, configuration(port, data), { mode: 0o600 });
    if (account !== undefined) await chown(config, account.uid, account.gid);
    return startService(
      {
        name: "registry",
        url: `http://127.0.0.1:${port}`,
        port,
        spec: { argv: [program, "serve", config], cwd: data, env: SERVICE_ENV, account },
        stopSteps: POLITE_STOP,
        probe: () => answers(port),
      },
      { ...options, dir },
    );
  });
  return { ...service, host: `127.0.0.1:${service.port}` };
}

/** The registry reads YAML, of which JSON is a part: no escaping of our own. */
function configuration(port: number, data: string): string {
  return JSON.stringify({
    version: 0.1,
    log: { level: "warn", accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: data },
      cache: { blobdescriptor: "inmemory" },
      delete: { enabled: true },
    },
    http: { addr: `127.0.0.1:${port}`, secret: randomBytes(24).toString("base64url") },
  });
}

async function answers(port: number): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}/v2/`, { signal: AbortSignal.timeout(1_000) });
  await reply.arrayBuffer();
  if (reply.status !== 200) throw new Error(`the registry answered ${reply.status}`);
}
