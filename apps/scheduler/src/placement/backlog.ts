// SPDX-License-Identifier: Apache-2.0
/** What waits for a place, in the order in which it is its turn. */
import type { Context } from "../context.ts";
import type { Claimant } from "./claims.ts";

export interface Waiting extends Claimant {
  readonly id: string;
  readonly createdAt: Date;
}

/** Operations looked at in one pass. */
export const BATCH = 256;

/** What needs no room, and mostly gives some: oldest first. */
export function freeingBacklog(ctx: Context): Promise<Waiting[]> {
  return ctx.db.client.$queryRaw<Waiting[]>`
    SELECT "id", "tenantId", "kind", "templateId", "createdAt" FROM "operations"
    WHERE "state" = 'queued' AND "kind" IN ('delete', 'suspend', 'drop_template') ORDER BY "createdAt", "id" LIMIT ${BATCH}`;
}

/**
 * What needs room: every tenant's first, then every tenant's second, and so on; a tenant's own in the order they came.
 * Creates of a template that is still being baked are not asked for: they would only stand in the way.
 */
export function fairBacklog(ctx: Context): Promise<Waiting[]> {
  return ctx.db.client.$queryRaw<Waiting[]>`
    SELECT "id", "tenantId", "kind", "templateId", "createdAt" FROM (
      SELECT o."id", o."tenantId", o."kind", o."templateId", o."createdAt", ROW_NUMBER() OVER (PARTITION BY o."tenantId" ORDER BY o."createdAt", o."id") AS turn
      FROM "operations" o LEFT JOIN "templates" t ON t."id" = o."templateId" AND o."kind" = 'create'
      WHERE o."state" = 'queued' AND o."kind" IN ('bake', 'create', 'fork', 'resume')
        AND NOT COALESCE(t."phase" IN ('Pending', 'Converting', 'Distributing') AND t."deletedAt" IS NULL, false)
    ) AS waiting ORDER BY turn, "createdAt", "id" LIMIT ${BATCH}`;
}
