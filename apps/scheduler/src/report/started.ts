// SPDX-License-Identifier: Apache-2.0
/** create and resume: one sandbox runs. */
import { openMeters } from "../meter/meter.ts";
import { strayDelete } from "../node/stray-delete.ts";
import { fail, failure, finish } from "../operation/end.ts";
import { move, moveToRunning } from "../sandbox/move.ts";
import type { Finishing } from "./finished.ts";

export async function created({ ctx, tx, effects, operation, nodeId, at, result }: Finishing<"create">): Promise<void> {
  const mine = operation.sandboxIds.filter((id) => id === result.sandboxId);
  const times = { forkTimeMs: result.forkTimeMs, createTimeMs: at.getTime() - operation.createdAt.getTime() };
  const running = await moveToRunning(tx, mine.length > 0 ? [result] : [], times);
  await openMeters(tx, running);
  if (running.length > 0) return void (await finish(ctx, tx, effects, operation, result));
  // It was deleted while it was being made. Its own delete may have come to the node too early to find it.
  await strayDelete(ctx, tx, effects, nodeId, operation.tenantId, mine);
  await fail(ctx, tx, effects, operation, failure("session_gone", `sandbox ${result.sandboxId} was deleted while it was being made`));
}

export async function resumed({ ctx, tx, effects, operation, result }: Finishing<"resume">): Promise<void> {
  const startedAt = new Date(result.startedAt);
  const mine = operation.sandboxIds.filter((id) => id === result.sandboxId);
  const running = await move(tx, mine, "resumed", {
    startedAt,
    lastActiveAt: startedAt,
    forkTimeMs: result.forkTimeMs,
    endpoints: result.endpoints,
    snapshotId: null,
    missedBeats: 0,
    lastSeenAt: null,
  });
  await openMeters(tx, running);
  if (operation.snapshotId)
    await tx.snapshot.updateMany({ where: { id: operation.snapshotId, kind: "suspend" }, data: { deletedAt: ctx.now() } });
  if (running.length > 0) await finish(ctx, tx, effects, operation, result);
  else
    await fail(ctx, tx, effects, operation, failure("session_gone", `sandbox ${result.sandboxId} was deleted while it was being resumed`));
}
