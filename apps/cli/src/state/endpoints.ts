// SPDX-License-Identifier: Apache-2.0
import { z } from "zod";
import { readJson, writeJson } from "./json-file.ts";
import type { StatePaths } from "./paths.ts";

const endpointsSchema = z.record(z.string(), z.object({ url: z.string(), port: z.int() }));
/** Where each part listens: kept, so that an address stays the same from one start to the next. */
export type Endpoints = z.infer<typeof endpointsSchema>;

export async function readEndpoints(paths: StatePaths): Promise<Endpoints> {
  return (await readJson(paths.endpoints, endpointsSchema)) ?? {};
}

export async function writeEndpoint(paths: StatePaths, part: string, endpoint: { url: string; port: number }): Promise<void> {
  await writeJson(paths.endpoints, { ...(await readEndpoints(paths)), [part]: { url: endpoint.url, port: endpoint.port } });
}
