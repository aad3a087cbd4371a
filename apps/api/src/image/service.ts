// SPDX-License-Identifier: Apache-2.0
/** What a key can run: the catalog, and the tenant's own templates, newest version of each name. */
import { templatePhaseSchema } from "@collimate/contracts";
import type { TemplatePhase } from "@collimate/contracts";
import type { Template } from "@collimate/db";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";

export interface ImageRow {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly visibility: "public" | "private";
  readonly phase: TemplatePhase;
  readonly tier: string;
  readonly description: string;
}

export class ImageService {
  readonly #platform: Platform;
  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** One row for each name: the one that a create by this name would take. Failed bakes are not offered. */
  async list(caller: Caller): Promise<ImageRow[]> {
    const scope = new TenantScope(this.#platform.database.client, caller.tenantId);
    const rows = (await scope.templates()).filter((row) => row.phase !== "Failed");
    const byName = Map.groupBy(rows, (row) => `${row.visibility} ${row.name}`);
    return [...byName.values()].map((versions) =>
      render(versions.findLast((row) => row.phase === "Live") ?? versions[versions.length - 1]),
    );
  }
}

function render(row: Template | undefined): ImageRow {
  if (!row) throw new Error("a group without rows");
  const isPublic = row.visibility === "public";
  return {
    id: row.id,
    name: row.name,
    image: row.image,
    visibility: isPublic ? "public" : "private",
    phase: templatePhaseSchema.parse(row.phase),
    tier: isPublic ? "demo" : "pro",
    description: "",
  };
}
