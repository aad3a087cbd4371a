// SPDX-License-Identifier: Apache-2.0
/** Deletes that did not get through are asked for again, until they do. */
import type { Sandbox } from "@collimate/db";
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import { requestDelete } from "../sandbox/request-delete.ts";
import { requestDrop } from "../template/request-drop.ts";

const AT_ONCE = 500;
/** Pause after a failed try. */
const AGAIN_MS = 30_000;

/** Sandboxes in `deleting` that no operation deletes. */
export async function repeatDeletes(ctx: Context): Promise<void> {
  const recent = new Date(ctx.now().getTime() - AGAIN_MS);
  await change(ctx, async (tx, effects) => {
    const stuck = await tx.$queryRaw<Sandbox[]>`
      SELECT s.* FROM "sandboxes" s
      WHERE s."state" = 'deleting'
        AND NOT EXISTS (SELECT 1 FROM "operations" o WHERE o."state" IN ('queued', 'assigned') AND o."kind" = 'delete' AND o."sandboxIds" @> ARRAY[s."id"])
        AND NOT EXISTS (SELECT 1 FROM "operations" o WHERE o."state" = 'failed' AND o."kind" = 'delete' AND o."createdAt" > ${recent} AND o."sandboxIds" @> ARRAY[s."id"])
      LIMIT ${AT_ONCE} FOR UPDATE OF s SKIP LOCKED`;
    await requestDelete(tx, effects, stuck, ctx.now(), "its delete did not get through");
    if (stuck.length > 0) {
      ctx.metrics.reaped.inc({ why: "stuck_delete" }, stuck.length);
      ctx.log.warn({ sandboxIds: stuck.map((row) => row.id) }, "deletes are asked for again");
    }
  });
}

/** Snapshots that are deleted and still on a node that answers. */
export async function repeatDrops(ctx: Context): Promise<void> {
  const recent = new Date(ctx.now().getTime() - AGAIN_MS);
  await change(ctx, async (tx, effects) => {
    const left = await tx.$queryRaw<{ id: string; tenantId: string }[]>`
      SELECT DISTINCT t."id", t."tenantId" FROM "node_snapshots" n
      JOIN "snapshots" d ON d."id" = n."snapshotId" AND d."kind" = 'template' AND d."deletedAt" < ${recent}
      JOIN "nodes" live ON live."id" = n."nodeId" AND live."state" <> 'lost'
      JOIN "templates" t ON t."id" = d."templateId" AND t."deletedAt" IS NOT NULL
      WHERE NOT EXISTS (SELECT 1 FROM "operations" o WHERE o."kind" = 'drop_template' AND o."templateId" = t."id" AND (o."state" IN ('queued', 'assigned') OR o."createdAt" > ${recent}))
      LIMIT ${AT_ONCE}`;
    for (const template of left) await requestDrop(tx, effects, template, ctx.now());
  });
}

/** Records of operations that ended long ago. */
export async function forgetOperations(ctx: Context): Promise<void> {
  const before = new Date(ctx.now().getTime() - ctx.policy.operationsKeptMs);
  await ctx.db.client.$executeRaw`
    DELETE FROM "operations" WHERE "id" IN (SELECT "id" FROM "operations" WHERE "state" IN ('done', 'failed') AND "createdAt" < ${before} AND "endedAt" < ${before} LIMIT 5000)`;
}
