// SPDX-License-Identifier: Apache-2.0
/** What lets the api speak to one sandbox on a node: a JWT that lives a minute. */
import type { ExecToken } from "@collimate/contracts";
import { SignJWT } from "jose";

const LIFE_S = 60;
/** A token is used again while it has at least half its life before it. */
const REUSE_MS = (LIFE_S * 1_000) / 2;
const ENTRIES = 20_000;

export class AgentTokens {
  readonly #secret: Uint8Array;
  readonly #made = new Map<string, { until: number; token: Promise<string> }>();

  constructor(secret: string) {
    this.#secret = new TextEncoder().encode(secret);
  }

  for(claims: ExecToken): Promise<string> {
    const key = `${claims.op} ${claims.tenant} ${claims.sub}`;
    const known = this.#made.get(key);
    if (known && known.until > Date.now()) return known.token;
    if (this.#made.size >= ENTRIES) this.#made.clear();
    const token = new SignJWT({ tenant: claims.tenant, op: claims.op })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(claims.sub)
      .setIssuedAt()
      .setExpirationTime(`${LIFE_S}s`)
      .sign(this.#secret);
    this.#made.set(key, { until: Date.now() + REUSE_MS, token });
    return token;
  }
}
