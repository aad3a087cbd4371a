// SPDX-License-Identifier: Apache-2.0
import type { Operation } from "@collimate/db";
import { nodeJobsOf } from "./node-job.ts";
import { type Outcome, PLACED } from "./outcome.ts";
import type { Attempt } from "./attempt.ts";

/** The last step of every placement: the operation is assigned, and its jobs go out when this is committed. */
export async function assign(attempt: Attempt, where: { nodeId: string | null; snapshotId?: string | null }): Promise<Outcome> {
  const { ctx, tx, effects, operation } = attempt;
  const data = { state: "assigned", nodeId: where.nodeId, snapshotId: where.snapshotId ?? null, assignedAt: ctx.now() } as const;
  await tx.operation.update({ where: { id: operation.id, version: operation.version }, data: { ...data, version: { increment: 1 } } });
  const assigned: Operation = { ...operation, ...data, version: operation.version + 1 };
  effects.jobs.push(...(await nodeJobsOf(tx, assigned)));
  return PLACED;
}
