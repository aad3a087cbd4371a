// SPDX-License-Identifier: Apache-2.0
import { z } from "zod";
import { Complaint } from "../complaint.ts";
import type { StartContext } from "../platform/part.ts";
import { readStateProfile, writeProfiles } from "../state/profile.ts";
import type { Profile } from "../state/profile.ts";

const madeSchema = z.object({ tenantId: z.string(), apiKey: z.string() });

/** The profile of the platform: the key of an earlier `up` while it is good, else a first tenant with a new key. */
export async function ensureFirstKey({ paths, secrets, endpoints }: StartContext): Promise<Profile> {
  const url = endpoints["api"]?.url;
  if (url === undefined) throw new Error("the api is not started");
  const known = await readStateProfile(paths);
  const apiKey = known !== undefined && (await isAccepted(url, known.apiKey)) ? known.apiKey : await makeTenant(url, secrets.adminToken);
  const profile = { url, apiKey };
  await writeProfiles(paths, profile);
  return profile;
}

async function isAccepted(url: string, apiKey: string): Promise<boolean> {
  const reply = await fetch(`${url}/v1/templates`, { headers: { authorization: `Bearer ${apiKey}` }, signal: AbortSignal.timeout(10_000) });
  await reply.arrayBuffer();
  if (reply.status === 401) return false;
  if (reply.ok) return true;
  throw new Complaint(`the api answered ${reply.status} to a look at its templates`);
}

async function makeTenant(url: string, adminToken: string): Promise<string> {
  const reply = await fetch(`${url}/internal/tenants`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "default", tier: "pro" }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Complaint(`the api refused to make the first tenant (${reply.status}): ${text.slice(0, 500)}`);
  return madeSchema.parse(JSON.parse(text)).apiKey;
}
