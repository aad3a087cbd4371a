// SPDX-License-Identifier: Apache-2.0
/** Creates and forks whose caller does not wait any more: published clients send no idempotency key, so it cannot come back for them. */
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import { fail, failure } from "../operation/end.ts";
import { lockOperation } from "../operation/lock.ts";
import { sandboxesOf } from "../sandbox/move.ts";
import { requestDelete } from "../sandbox/request-delete.ts";

const AT_ONCE = 500;

/**
 * Queued ones end; of finished ones nothing is kept; assigned ones are left to finish first. Whoever takes an answer
 * clears the lease, so what still has one has no owner.
 */
export async function reapUnclaimed(ctx: Context): Promise<void> {
  const now = ctx.now();
  const lapsed = await ctx.db.client.operation.findMany({
    where: { waiterUntil: { lt: now }, kind: { in: ["create", "fork"] }, state: { in: ["queued", "done", "failed"] } },
    select: { id: true },
    orderBy: { waiterUntil: "asc" },
    take: AT_ONCE,
  });
  for (const { id } of lapsed) {
    await change(ctx, async (tx, effects) => {
      const operation = await lockOperation(tx, id);
      if (!operation?.waiterUntil || operation.waiterUntil >= now || operation.state === "assigned") return;
      const reason = "nobody waited for it any more";
      await requestDelete(tx, effects, await sandboxesOf(tx, operation.sandboxIds), now, reason);
      if (operation.state === "queued") await fail(ctx, tx, effects, operation, failure("at_capacity", reason));
      await tx.operation.update({ where: { id }, data: { waiterUntil: null, version: { increment: 1 } } });
      if (operation.state !== "failed") ctx.metrics.reaped.inc({ why: "unclaimed" });
    });
  }
}
