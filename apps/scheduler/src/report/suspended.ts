// SPDX-License-Identifier: Apache-2.0
import { closeMeters } from "../meter/meter.ts";
import { fail, failure, finish } from "../operation/end.ts";
import { move } from "../sandbox/move.ts";
import type { Finishing } from "./finished.ts";

export async function suspended({ ctx, tx, effects, operation, nodeId, result }: Finishing<"suspend">): Promise<void> {
  const mine = operation.sandboxIds.filter((id) => id === result.sandboxId);
  const moved = await move(tx, mine, "suspended", { snapshotId: result.snapshotId, reservedMib: 0 });
  await closeMeters(
    tx,
    mine.map((sandboxId) => ({ sandboxId, endedAt: new Date(result.endedAt) })),
  );
  await tx.snapshot.updateMany({
    where: { id: result.snapshotId },
    data: { sizeBytes: BigInt(Math.max(0, Math.round(result.sizeBytes))) },
  });
  effects.room.push({ nodeId, slots: moved.length, at: new Date(result.endedAt) });
  if (moved.length > 0) await finish(ctx, tx, effects, operation, result);
  else
    await fail(
      ctx,
      tx,
      effects,
      operation,
      failure("session_gone", `sandbox ${result.sandboxId} was deleted while it was being suspended`),
    );
}
