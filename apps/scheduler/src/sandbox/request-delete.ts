// SPDX-License-Identifier: Apache-2.0
/** Deletes that the scheduler itself wants: idle, left behind, out of time. */
import { newId } from "@collimate/contracts";
import type { Sandbox, Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import { cut, move } from "./move.ts";

/** Of one operation; more become several. */
const AT_ONCE = 64;
const DEADLINE_MS = 10 * 60_000;

/** Queues delete operations for these sandboxes, whatever state they are in; deleted ones are left alone. */
export async function requestDelete(
  tx: Tx,
  effects: Effects,
  sandboxes: readonly Pick<Sandbox, "id" | "tenantId" | "state">[],
  now: Date,
  reason: string,
): Promise<void> {
  const due = sandboxes.filter((row) => row.state !== "deleted");
  const moving = due.filter((row) => row.state !== "deleting");
  await move(
    tx,
    moving.map((row) => row.id),
    "delete",
    { error: cut(reason) },
  );
  for (const [tenantId, rows] of Map.groupBy(due, (row) => row.tenantId)) {
    for (let start = 0; start < rows.length; start += AT_ONCE) {
      const sandboxIds = rows.slice(start, start + AT_ONCE).map((row) => row.id);
      await tx.operation.create({
        data: {
          id: newId("operation"),
          tenantId,
          kind: "delete",
          sandboxIds,
          request: { reason: cut(reason) },
          createdAt: now,
          deadlineAt: new Date(now.getTime() + DEADLINE_MS),
        },
      });
    }
  }
  if (due.length > 0) effects.placement = true;
}
