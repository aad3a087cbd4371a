// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { POLITE_STOP, POSTGRES_STOP, startPostgres, startRedis, startRegistry } from "@collimate/embedded";
import type { StartOptions } from "@collimate/embedded";
import { logPath, recordPath } from "../state/paths.ts";
import { START_DEADLINE_MS } from "./part.ts";
import type { Part, StartContext } from "./part.ts";
import { choosePort } from "./port.ts";
import { accepts, serves } from "./probe.ts";

export const postgres: Part = {
  name: "postgres",
  start: async (context) => startPostgres(await optionsOf("postgres", context)),
  stopSteps: POSTGRES_STOP,
  probe: ({ port }) => accepts(port),
};

export const redis: Part = {
  name: "redis",
  start: async (context) => startRedis(await optionsOf("redis", context)),
  stopSteps: POLITE_STOP,
  probe: ({ port }) => accepts(port),
};

export const registry: Part = {
  name: "registry",
  start: async (context) => startRegistry(await optionsOf("registry", context)),
  stopSteps: POLITE_STOP,
  probe: ({ url }) => serves(`${url}/v2/`),
};

async function optionsOf(name: string, { paths, endpoints }: StartContext): Promise<StartOptions> {
  return {
    dir: join(paths.root, name),
    port: await choosePort([endpoints[name]?.port]),
    lifetime: "detached",
    record: recordPath(paths, name),
    log: logPath(paths, name),
    deadlineMs: START_DEADLINE_MS,
  };
}
