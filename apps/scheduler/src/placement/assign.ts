// SPDX-License-Identifier: Apache-2.0
/** The last step of every placement: the operation is assigned, and its jobs go out when this is committed. */
import type { Operation, Tx } from "@collimate/db";
import type { Attempt } from "./held.ts";
import { nodeJobsOf } from "./node-job.ts";
import { type Outcome, PLACED } from "./outcome.ts";

export interface Assignment {
  readonly operation: Operation;
  /** null: several nodes have a part in it. */
  readonly nodeId: string | null;
  readonly snapshotId?: string | null;
}

/** Returns them as they are now, in their order. They must be locked. */
export async function assignMany(tx: Tx, assignments: readonly Assignment[], now: Date): Promise<Operation[]> {
  if (assignments.length === 0) return [];
  const rows = JSON.stringify(
    assignments.map(({ operation, nodeId, snapshotId }) => ({
      id: operation.id,
      version: operation.version,
      nodeId,
      snapshotId: snapshotId ?? null,
    })),
  );
  const updated = await tx.$queryRaw<Operation[]>`
    UPDATE "operations" o SET "state" = 'assigned', "nodeId" = e."nodeId", "snapshotId" = e."snapshotId", "assignedAt" = ${now}, "version" = o."version" + 1
    FROM jsonb_to_recordset(${rows}::jsonb) AS e("id" TEXT, "version" INTEGER, "nodeId" TEXT, "snapshotId" TEXT)
    WHERE o."id" = e."id" AND o."version" = e."version" AND o."state" = 'queued' RETURNING o.*`;
  if (updated.length !== assignments.length) throw new Error("operations changed while they were locked");
  const byId = new Map(updated.map((row) => [row.id, row]));
  return assignments.flatMap(({ operation }) => byId.get(operation.id) ?? []);
}

export async function assign({ ctx, tx, effects, operation }: Attempt, where: Omit<Assignment, "operation">): Promise<Outcome> {
  for (const assigned of await assignMany(tx, [{ operation, ...where }], ctx.now())) effects.jobs.push(...(await nodeJobsOf(tx, assigned)));
  return PLACED;
}
