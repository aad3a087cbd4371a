// SPDX-License-Identifier: Apache-2.0
import type { Operation, Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import { move } from "../sandbox/move.ts";

/** Back to the queue under a new attempt: its node was lost or refused, and nothing was made. Its sandboxes have no place again. */
export async function requeue(tx: Tx, effects: Effects, operation: Operation): Promise<void> {
  await tx.operation.updateMany({
    where: { id: operation.id, state: "assigned", version: operation.version },
    data: { state: "queued", nodeId: null, snapshotId: null, assignedAt: null, attempt: { increment: 1 }, version: { increment: 1 } },
  });
  if (operation.kind === "create" || operation.kind === "fork")
    await move(tx, operation.sandboxIds, "unplace", { nodeId: null, reservedMib: 0 });
  if (operation.nodeId) effects.room.push({ nodeId: operation.nodeId, slots: 0, at: new Date(0) });
  effects.placement = true;
}
