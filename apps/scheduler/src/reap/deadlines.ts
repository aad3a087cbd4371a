// SPDX-License-Identifier: Apache-2.0
/** Operations that take longer than they may. */
import type { Operation, Tx } from "@collimate/db";
import { change, type Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { fail, failure } from "../operation/end.ts";
import { lockOperation } from "../operation/lock.ts";
import { move, sandboxesOf } from "../sandbox/move.ts";
import { requestDelete } from "../sandbox/request-delete.ts";
import { failTemplate } from "../template/phase.ts";

const AT_ONCE = 500;

export async function reapOverdue(ctx: Context): Promise<void> {
  const now = ctx.now();
  const oldest = new Date(now.getTime() - ctx.policy.operationMs);
  const overdue = await ctx.db.client.operation.findMany({
    where: { state: { in: ["queued", "assigned"] }, OR: [{ deadlineAt: { lt: now } }, { deadlineAt: null, createdAt: { lt: oldest } }] },
    select: { id: true },
    orderBy: { createdAt: "asc" },
    take: AT_ONCE,
  });
  for (const { id } of overdue) {
    await change(ctx, async (tx, effects) => {
      const operation = await lockOperation(tx, id);
      if (operation?.state !== "queued" && operation?.state !== "assigned") return;
      await timeOut(ctx, tx, effects, operation);
      ctx.metrics.reaped.inc({ why: "deadline" });
    });
  }
}

async function timeOut(ctx: Context, tx: Tx, effects: Effects, operation: Operation): Promise<void> {
  const where = operation.state === "assigned" ? `node ${operation.nodeId ?? ""} has not finished it` : "no node had room for it";
  const reason = failure("operation_timeout", `${operation.kind} ${operation.id} was not done in time: ${where}`);
  if (operation.kind === "create" || operation.kind === "fork")
    await requestDelete(tx, effects, await sandboxesOf(tx, operation.sandboxIds), ctx.now(), reason.message);
  if (operation.kind === "suspend") await move(tx, operation.sandboxIds, "kept");
  if (operation.kind === "resume") await move(tx, operation.sandboxIds, "put_back", { reservedMib: 0 });
  if (operation.kind === "bake" && operation.templateId) await failTemplate(tx, operation.templateId, reason);
  if (operation.nodeId) effects.room.push({ nodeId: operation.nodeId, slots: 0, at: ctx.now() });
  await fail(ctx, tx, effects, operation, reason);
}
