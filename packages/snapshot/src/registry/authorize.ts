// SPDX-License-Identifier: Apache-2.0
/** Answers a registry's 401: with the credentials themselves, or with a token of the service that the registry names. */
import { CollimateError } from "@collimate/contracts";
import { z } from "zod";

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const LIMIT_MS = 20_000;
const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/** The value of the Authorization header. */
export async function authorize(challenge: string, repository: string, credentials: Credentials | undefined): Promise<string> {
  const basic = credentials && `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString("base64")}`;
  if (/^basic\b/i.test(challenge)) {
    if (basic) return basic;
    throw new CollimateError("upstream_error", "the snapshot registry asks for credentials and none are set");
  }
  const parameters = new Map([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
  const [realm, service] = [parameters.get("realm"), parameters.get("service")];
  if (!/^bearer\b/i.test(challenge) || !realm || !URL.canParse(realm))
    throw new CollimateError("upstream_error", "the snapshot registry asks for a kind of login that is not known");
  const url = new URL(realm);
  if (service) url.searchParams.set("service", service);
  url.searchParams.set("scope", `repository:${repository}:pull,push,delete`);
  const reply = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS), headers: basic ? { authorization: basic } : {} });
  if (!reply.ok) throw new CollimateError("upstream_error", `the registry's login at ${url.host} answered ${reply.status}`);
  const { token, access_token } = tokenSchema.parse(await reply.json());
  return `Bearer ${token ?? access_token ?? ""}`;
}
