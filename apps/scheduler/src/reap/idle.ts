// SPDX-License-Identifier: Apache-2.0
import type { Sandbox } from "@collimate/db";
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import { requestDelete } from "../sandbox/request-delete.ts";

const AT_ONCE = 500;

/**
 * Running sandboxes without an exec for a long time: their caller has gone. One with an operation under way has a caller,
 * and one with live children is the parent of a group that is being worked with.
 */
export async function reapIdle(ctx: Context): Promise<void> {
  const before = new Date(ctx.now().getTime() - ctx.policy.idleMs);
  const reaped = await change(ctx, async (tx, effects) => {
    const idle = await tx.$queryRaw<Sandbox[]>`
      SELECT s.* FROM "sandboxes" s
      WHERE s."state" = 'running' AND s."lastActiveAt" < ${before}
        AND NOT EXISTS (SELECT 1 FROM "operations" o WHERE o."state" IN ('queued', 'assigned') AND o."sandboxIds" @> ARRAY[s."id"])
        AND NOT EXISTS (SELECT 1 FROM "sandboxes" c WHERE c."parentId" = s."id" AND c."tenantId" = s."tenantId"
          AND c."state" IN ('requested', 'placing', 'starting', 'running', 'suspending', 'suspended', 'resuming'))
      ORDER BY s."lastActiveAt" LIMIT ${AT_ONCE} FOR UPDATE OF s SKIP LOCKED`;
    await requestDelete(tx, effects, idle, ctx.now(), `idle for more than ${Math.round(ctx.policy.idleMs / 1_000)} s`);
    return idle.length;
  });
  count(ctx, "idle", reaped);
}

/** Failed sandboxes can be looked at for a while; then what is left of them goes. */
export async function reapFailed(ctx: Context): Promise<void> {
  const before = new Date(ctx.now().getTime() - ctx.policy.failedKeptMs);
  const reaped = await change(ctx, async (tx, effects) => {
    const old = await tx.$queryRaw<Sandbox[]>`
      SELECT * FROM "sandboxes" WHERE "state" = 'failed' AND "endedAt" < ${before} LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED`;
    for (const [error, rows] of Map.groupBy(old, (row) => row.error)) await requestDelete(tx, effects, rows, ctx.now(), error);
    return old.length;
  });
  count(ctx, "failed", reaped);
}

function count(ctx: Context, why: string, reaped: number): void {
  if (reaped === 0) return;
  ctx.metrics.reaped.inc({ why }, reaped);
  ctx.log.info({ why, sandboxes: reaped }, "sandboxes are reaped");
}
