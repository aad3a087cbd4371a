// SPDX-License-Identifier: Apache-2.0
import type { ErrorCode, Failure, NodeReport, OperationKind } from "@collimate/contracts";
import { operationKindSchema } from "@collimate/contracts";
import type { Operation, Tx } from "@collimate/db";
import { change, type Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { closeMeters } from "../meter/meter.ts";
import { fail } from "../operation/end.ts";
import { lockOperation } from "../operation/lock.ts";
import { requeue } from "../operation/requeue.ts";
import { cut, discard, move } from "../sandbox/move.ts";
import { failTemplate } from "../template/phase.ts";
import { rebake } from "../template/rebake.ts";
import type { Applied } from "./apply.ts";
import { isHis } from "./finished.ts";

export type FailedReport = Extract<NodeReport, { kind: "failed" }>;

interface Failing {
  readonly ctx: Context;
  readonly tx: Tx;
  readonly operation: Operation;
  readonly at: Date;
  readonly failure: Failure;
}

/** Words of a node that says: not here, not now. */
const REFUSALS: readonly ErrorCode[] = ["at_capacity", "draining"];
const MOVABLE: readonly OperationKind[] = ["bake", "create", "fork", "resume"];
/** Words of a node that cannot restore the template's snapshot. */
const USELESS: readonly ErrorCode[] = ["snapshot_damaged", "snapshot_incompatible", "snapshot_missing"];
/** A create waits for so many bakes of its template at most. */
const REBAKES = 3;
/** Words of a node that does not have the sandbox. */
const GONE: readonly ErrorCode[] = ["not_found", "session_gone"];

export function applyFailed(ctx: Context, report: FailedReport): Promise<Applied> {
  return change(ctx, async (tx, effects) => {
    const operation = await lockOperation(tx, report.operationId);
    if (!operation || operation.state !== "assigned" || !isHis(operation, report.nodeId)) return "stale";
    const kind = operationKindSchema.parse(operation.kind);
    if (REFUSALS.includes(report.failure.code) && MOVABLE.includes(kind)) {
      await believe(tx, report);
      await requeue(tx, effects, operation);
      return "applied";
    }
    if (kind === "create" && USELESS.includes(report.failure.code) && (await bakesAnew(ctx, tx, effects, operation, report))) {
      await requeue(tx, effects, operation);
      return "applied";
    }
    await UNDO[kind]({ ctx, tx, operation, at: new Date(report.at), failure: report.failure });
    effects.room.push({ nodeId: report.nodeId, slots: 0, at: new Date(report.at) });
    await fail(ctx, tx, effects, operation, report.failure);
    return "applied";
  });
}

/** Nothing more is placed there until its next heartbeat says that there is room. */
async function believe(tx: Tx, report: FailedReport): Promise<void> {
  await tx.node.updateMany({
    where: { id: report.nodeId, heartbeatAt: { lte: new Date(report.at) } },
    data: { slotsFree: 0, ...(report.failure.code === "draining" ? { state: "draining" } : {}), version: { increment: 1 } },
  });
}

async function bakesAnew(ctx: Context, tx: Tx, effects: Effects, operation: Operation, { nodeId }: FailedReport): Promise<boolean> {
  const { templateId, snapshotId, attempt } = operation;
  if (templateId === null || snapshotId === null || attempt >= REBAKES) return false;
  return rebake(tx, effects, { templateId, snapshotId, nodeId }, ctx.now());
}

const UNDO: Record<OperationKind, (failing: Failing) => Promise<unknown>> = {
  bake: async ({ ctx, tx, operation, failure }) => {
    if (operation.templateId) await failTemplate(tx, operation.templateId, failure);
    if (operation.snapshotId) await tx.snapshot.updateMany({ where: { id: operation.snapshotId }, data: { deletedAt: ctx.now() } });
  },
  create: nothingKept,
  fork: nothingKept,
  suspend: (failing) => backOrGone(failing, "kept"),
  resume: (failing) => backOrGone(failing, "put_back"),
  // They stay wanted: the reaper asks again for what is left in `deleting`.
  delete: async () => {},
  drop_template: async () => {},
};

function nothingKept({ ctx, tx, operation, failure }: Failing): Promise<unknown> {
  return discard(tx, operation.sandboxIds, ctx.now(), failure.message);
}

async function backOrGone({ tx, operation, at, failure }: Failing, back: "kept" | "put_back"): Promise<void> {
  if (!GONE.includes(failure.code)) {
    await move(tx, operation.sandboxIds, back, { reservedMib: 0 });
    return;
  }
  const failed = await move(tx, operation.sandboxIds, "fail", { error: cut(failure.message), endedAt: at, reservedMib: 0 });
  await closeMeters(
    tx,
    failed.map((row) => ({ sandboxId: row.id, endedAt: at })),
  );
}
