// SPDX-License-Identifier: Apache-2.0
/** Tenants and their keys: for administrators. */
import { CollimateError, newId, tierSchema } from "@collimate/contracts";
import type { Tier } from "@collimate/contracts";
import type { Platform } from "../server/platform.ts";
import { newKey } from "./key.ts";

export interface NewTenant {
  readonly tenantId: string;
  readonly keyId: string;
  /** Told this once; only its hash is kept. */
  readonly apiKey: string;
}

export interface TenantRow {
  readonly id: string;
  readonly name: string;
  readonly tier: Tier;
  readonly createdAt: string;
  readonly keys: { id: string; name: string; createdAt: string; expiresAt: string; revokedAt: string }[];
}

export class TenantService {
  readonly #platform: Platform;
  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async create(name: string, tier: Tier): Promise<NewTenant> {
    const key = newKey(tier);
    const tenantId = newId("tenant");
    await this.#platform.database.client.tenant.create({
      data: { id: tenantId, name, tier, keys: { create: { id: key.id, hash: key.hash, name: "first" } } },
    });
    return { tenantId, keyId: key.id, apiKey: key.key };
  }

  async createKey(tenantId: string, name: string, expiresAt: Date | null): Promise<NewTenant> {
    const { client } = this.#platform.database;
    const tenant = await client.tenant.findUnique({ where: { id: tenantId } });
    if (!tenant) throw new CollimateError("not_found", `no tenant ${tenantId}`);
    const key = newKey(tierSchema.parse(tenant.tier));
    await client.apiKey.create({ data: { id: key.id, tenantId, hash: key.hash, name, expiresAt } });
    return { tenantId, keyId: key.id, apiKey: key.key };
  }

  /** Dead everywhere within a second. */
  async revokeKey(keyId: string): Promise<{ revoked: true; keyId: string }> {
    const changed = await this.#platform.database.client.apiKey.updateMany({
      where: { id: keyId, revokedAt: null },
      data: { revokedAt: new Date() },
    });
    if (changed.count === 0) throw new CollimateError("not_found", `no live key ${keyId}`);
    return { revoked: true, keyId };
  }

  async list(): Promise<TenantRow[]> {
    const rows = await this.#platform.database.client.tenant.findMany({
      include: { keys: { orderBy: { createdAt: "asc" } } },
      orderBy: { createdAt: "asc" },
    });
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      tier: tierSchema.parse(row.tier),
      createdAt: row.createdAt.toISOString(),
      keys: row.keys.map((k) => ({
        id: k.id,
        name: k.name,
        createdAt: k.createdAt.toISOString(),
        expiresAt: k.expiresAt?.toISOString() ?? "",
        revokedAt: k.revokedAt?.toISOString() ?? "",
      })),
    }));
  }

  /** Puts a template into the catalog, which every tenant sees, or takes it out. */
  async setVisibility(templateId: string, visibility: "public" | "private"): Promise<{ id: string; visibility: string }> {
    const changed = await this.#platform.database.client.template.updateMany({
      where: { id: templateId, deletedAt: null },
      data: { visibility, version: { increment: 1 } },
    });
    if (changed.count === 0) throw new CollimateError("not_found", `no template ${templateId}`);
    return { id: templateId, visibility };
  }
}
