// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { newId } from "@collimate/contracts";
import { z } from "zod";
import { readJson, writeJson } from "./json-file.ts";
import type { StatePaths } from "./paths.ts";

const secretsSchema = z.object({
  /** Signs the tokens with which the api talks to the agent. */
  agentSecret: z.string().min(32),
  /** Lets this machine's administrator make tenants. */
  adminToken: z.string().min(32),
  nodeId: z.string().min(1),
});
export type Secrets = z.infer<typeof secretsSchema>;

/** The platform's secrets, made on first use. The caller holds the state lock. */
export async function ensureSecrets(paths: StatePaths): Promise<Secrets> {
  const known = await readSecrets(paths);
  if (known !== undefined) return known;
  const fresh = { agentSecret: token(), adminToken: token(), nodeId: newId("node") };
  await writeJson(paths.secrets, fresh);
  return fresh;
}

export function readSecrets(paths: StatePaths): Promise<Secrets | undefined> {
  return readJson(paths.secrets, secretsSchema);
}

function token(): string {
  return randomBytes(32).toString("base64url");
}
