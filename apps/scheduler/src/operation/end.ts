// SPDX-License-Identifier: Apache-2.0
/** Operations end here and nowhere else, exactly once. */
import { CollimateError, type ErrorCode, type Failure, type NodeResult, type OperationEnd } from "@collimate/contracts";
import { type Operation, Prisma, type Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import type { Context } from "../context.ts";

/** Compare-and-set on the version read; a second end finds nothing to change. */
async function end(ctx: Context, tx: Tx, effects: Effects, operation: Operation, how: OperationEnd): Promise<boolean> {
  const { count } = await tx.operation.updateMany({
    where: { id: operation.id, state: { in: ["queued", "assigned"] }, version: operation.version },
    data: {
      state: how.state,
      result: how.state === "done" ? (how.result ?? Prisma.DbNull) : Prisma.DbNull,
      failure: how.state === "failed" ? how.failure : Prisma.DbNull,
      endedAt: ctx.now(),
      version: { increment: 1 },
    },
  });
  if (count === 0) return false;
  effects.ends.push({ operationId: operation.id, end: how });
  ctx.metrics.ended.inc({ kind: operation.kind, state: how.state });
  ctx.log.info({ operationId: operation.id, tenantId: operation.tenantId, kind: operation.kind, ...how }, "operation ended");
  return true;
}

export function finish(ctx: Context, tx: Tx, effects: Effects, operation: Operation, result: NodeResult | null): Promise<boolean> {
  return end(ctx, tx, effects, operation, { state: "done", result });
}

export function fail(ctx: Context, tx: Tx, effects: Effects, operation: Operation, reason: Failure): Promise<boolean> {
  return end(ctx, tx, effects, operation, { state: "failed", failure: reason });
}

export function failure(code: ErrorCode, message: string): Failure {
  return new CollimateError(code, message).toFailure();
}
