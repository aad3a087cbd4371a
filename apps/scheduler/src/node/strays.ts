// SPDX-License-Identifier: Apache-2.0
import type { Heartbeat } from "@collimate/contracts";
import type { Sandbox, Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { strayDelete, SYSTEM_TENANT } from "./stray-delete.ts";

/** The heartbeat may have been written just before the sandbox ended. */
const GRACE_MS = 5_000;

/** Deletes from the node what the database knows as ended, as another node's, or not at all. */
export async function deleteStrays(ctx: Context, tx: Tx, effects: Effects, beat: Heartbeat): Promise<void> {
  if (beat.sandboxes.length === 0) return;
  const rows = await tx.sandbox.findMany({
    where: { id: { in: beat.sandboxes } },
    select: { id: true, tenantId: true, nodeId: true, state: true, endedAt: true },
  });
  const known = new Map(rows.map((row) => [row.id, row]));
  const strays = beat.sandboxes.filter((id) => isStray(known.get(id), beat));
  if (strays.length === 0) return;
  ctx.log.warn({ nodeId: beat.nodeId, sandboxIds: strays }, "a node has sandboxes that it should not have; they are deleted there");
  for (const [tenantId, ids] of Map.groupBy(strays, (id) => known.get(id)?.tenantId ?? SYSTEM_TENANT)) {
    await strayDelete(ctx, tx, effects, beat.nodeId, tenantId, ids);
  }
}

function isStray(row: Pick<Sandbox, "nodeId" | "state" | "endedAt"> | undefined, beat: Heartbeat): boolean {
  if (!row) return true;
  if (row.state === "deleted" || row.state === "failed") return (row.endedAt?.getTime() ?? 0) + GRACE_MS < beat.at;
  return row.nodeId !== beat.nodeId;
}
