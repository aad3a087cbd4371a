// SPDX-License-Identifier: Apache-2.0
/** From a Bearer key to the tenant who pays. */
import { CollimateError, tierSchema } from "@collimate/contracts";
import type { Tier } from "@collimate/contracts";
import type { Prisma } from "../server/platform.ts";
import { bearer, hashKey, keyId, sameSecret } from "./key.ts";

export interface Caller {
  readonly tenantId: string;
  readonly tier: Tier;
  readonly keyId: string;
}

/** A revoked key is dead everywhere after this long. */
const CACHE_MS = 1_000;
const CACHE_ENTRIES = 10_000;

interface Remembered {
  readonly until: number;
  readonly caller: Promise<Caller | null>;
}

export class Authenticator {
  readonly #db: Prisma;
  readonly #now: () => number;
  /** By hash of the whole key, so that no key lies about in memory. */
  readonly #known = new Map<string, Remembered>();

  constructor(db: Prisma, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** One message for every kind of bad key: which part was wrong is nobody's business. */
  async require(header: string | undefined): Promise<Caller> {
    const key = bearer(header);
    if (key === undefined) throw new CollimateError("unauthorized", "no API key: send Authorization: Bearer col_...");
    const caller = await this.#find(key);
    if (!caller) throw new CollimateError("unauthorized", "this API key is not known, was revoked or has expired");
    return caller;
  }

  async #find(key: string): Promise<Caller | null> {
    const id = keyId(key);
    if (id === undefined) return null;
    const hash = hashKey(key);
    const remembered = this.#known.get(hash);
    if (remembered && remembered.until > this.#now()) return remembered.caller;
    const caller = this.#look(id, hash);
    this.#remember(hash, caller);
    return caller;
  }

  async #look(id: string, hash: string): Promise<Caller | null> {
    const row = await this.#db.apiKey.findUnique({ where: { id }, include: { tenant: { select: { tier: true } } } });
    if (!row || !sameSecret(row.hash, hash)) return null;
    if (row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt.getTime() <= this.#now())) return null;
    return { tenantId: row.tenantId, tier: tierSchema.parse(row.tenant.tier), keyId: row.id };
  }

  /** Only good answers stay: a key made a moment ago must work, and a flood of wrong ones must not fill the memory. */
  #remember(hash: string, caller: Promise<Caller | null>): void {
    if (this.#known.size >= CACHE_ENTRIES) this.#known.delete(this.#known.keys().next().value ?? "");
    const entry: Remembered = { until: this.#now() + CACHE_MS, caller };
    this.#known.delete(hash);
    this.#known.set(hash, entry);
    const forget = () => {
      if (this.#known.get(hash) === entry) this.#known.delete(hash);
    };
    caller.then((found) => (found === null ? forget() : undefined), forget);
  }
}
