// SPDX-License-Identifier: Apache-2.0
/** Nodes that are heard of no more. */
import type { Node, Operation, Tx } from "@collimate/db";
import { change, type Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { closeMeters } from "../meter/meter.ts";
import { fail, failure, finish } from "../operation/end.ts";
import { lockOperation } from "../operation/lock.ts";
import { requeue } from "../operation/requeue.ts";
import { settleDelete } from "../operation/settle-delete.ts";
import { nodesWithTemplate, strayRequestSchema } from "../placement/node-job.ts";
import { discard, move, moveToDeleted } from "../sandbox/move.ts";

export async function sweepLostNodes(ctx: Context): Promise<void> {
  const silentSince = new Date(ctx.now().getTime() - ctx.policy.nodeLostMs);
  const silent = await ctx.db.client.node.findMany({
    where: { state: { not: "lost" }, heartbeatAt: { lt: silentSince } },
    select: { id: true },
  });
  for (const { id } of silent) await loseNode(ctx, id, silentSince);
  await endOrphaned(ctx);
}

/** What ran there has ended: its meter stops at the last that was heard of it. */
async function loseNode(ctx: Context, nodeId: string, silentSince: Date): Promise<void> {
  await change(ctx, async (tx) => {
    const [node] = await tx.$queryRaw<Node[]>`SELECT * FROM "nodes" WHERE "id" = ${nodeId} FOR UPDATE`;
    if (!node || node.state === "lost" || node.heartbeatAt >= silentSince) return;
    await tx.node.update({ where: { id: nodeId }, data: { state: "lost", reservedMib: 0, reservedSlots: 0, version: { increment: 1 } } });
    const lived = await tx.sandbox.findMany({ where: { nodeId, state: { in: ["running", "suspending"] } } });
    for (const row of lived) {
      const end = latest(node.heartbeatAt, row.startedAt);
      await move(tx, [row.id], "fail", { error: `node ${nodeId} was lost`, endedAt: end, reservedMib: 0 });
      await closeMeters(tx, [{ sandboxId: row.id, endedAt: end }]);
    }
    ctx.metrics.lostSandboxes.inc({ why: "node_lost" }, lived.length);
    ctx.log.error({ nodeId, heartbeatAt: node.heartbeatAt, sandboxes: lived.length }, "a node was lost");
  });
}

/** Operations that a lost node was to do: given to another where another can, ended where none can. */
async function endOrphaned(ctx: Context): Promise<void> {
  const orphaned = await ctx.db.client.$queryRaw<{ id: string }[]>`
    SELECT o."id" FROM "operations" o WHERE o."state" = 'assigned' AND (
      EXISTS (SELECT 1 FROM "nodes" n WHERE n."id" = o."nodeId" AND n."state" = 'lost')
      OR (o."kind" = 'delete' AND EXISTS (SELECT 1 FROM "sandboxes" s JOIN "nodes" n ON n."id" = s."nodeId" WHERE s."id" = ANY (o."sandboxIds") AND s."state" = 'deleting' AND n."state" = 'lost'))
      OR (o."kind" = 'drop_template' AND o."nodeId" IS NULL)
    ) ORDER BY o."createdAt" LIMIT 500`;
  for (const { id } of orphaned) {
    await change(ctx, async (tx, effects) => {
      const operation = await lockOperation(tx, id);
      if (operation?.state === "assigned") await withoutNode(ctx, tx, effects, operation);
    });
  }
}

async function withoutNode(ctx: Context, tx: Tx, effects: Effects, operation: Operation): Promise<void> {
  const lost = failure("session_gone", `its node ${operation.nodeId ?? ""} was lost`);
  switch (operation.kind) {
    case "bake":
    case "create":
      return requeue(tx, effects, operation);
    case "fork":
      await discard(tx, operation.sandboxIds, ctx.now(), lost.message);
      return void (await fail(ctx, tx, effects, operation, failure("fork_failed", `the parent's node ${operation.nodeId ?? ""} was lost`)));
    case "resume":
      await move(tx, operation.sandboxIds, "put_back", { reservedMib: 0 });
      return void (await fail(
        ctx,
        tx,
        effects,
        operation,
        failure("upstream_error", `node ${operation.nodeId ?? ""}, which has the snapshot, does not answer`),
      ));
    case "delete":
      return endDelete(ctx, tx, effects, operation);
    case "drop_template":
      if (operation.templateId === null || (await nodesWithTemplate(tx, operation.templateId)).length > 0) return;
      return void (await finish(ctx, tx, effects, operation, { kind: "drop_template", templateId: operation.templateId }));
    default:
      return void (await fail(ctx, tx, effects, operation, lost));
  }
}

async function endDelete(ctx: Context, tx: Tx, effects: Effects, operation: Operation): Promise<void> {
  if (strayRequestSchema.safeParse(operation.request).success)
    return void (await finish(ctx, tx, effects, operation, { kind: "delete", ended: [] }));
  const rows = await tx.$queryRaw<{ id: string; heartbeatAt: Date; startedAt: Date | null }[]>`
    SELECT s."id", s."startedAt", n."heartbeatAt" FROM "sandboxes" s JOIN "nodes" n ON n."id" = s."nodeId"
    WHERE s."id" = ANY (${operation.sandboxIds}) AND s."state" = 'deleting' AND n."state" = 'lost'`;
  const endings = rows.map((row) => ({ sandboxId: row.id, endedAt: latest(row.heartbeatAt, row.startedAt) }));
  await moveToDeleted(tx, endings);
  await closeMeters(tx, endings);
  await settleDelete(ctx, tx, effects, operation);
}

function latest(a: Date, b: Date | null): Date {
  return b && b > a ? b : a;
}
