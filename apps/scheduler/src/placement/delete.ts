// SPDX-License-Identifier: Apache-2.0
/**
 * Deletes, many at once: on the nodes that have the sandboxes, live or not; the job lies there until they are. Where no node
 * can have it, it is gone at once.
 */
import type { Sandbox, Tx } from "@collimate/db";
import { closeMeters } from "../meter/meter.ts";
import { settleDelete } from "../operation/settle-delete.ts";
import { move, moveToDeleted, sandboxesOf } from "../sandbox/move.ts";
import { type Assignment, assignMany } from "./assign.ts";
import type { BatchAttempt, Outcomes } from "./held.ts";
import { deleteJobs } from "./node-job.ts";
import { ENDED, PLACED } from "./outcome.ts";

export async function placeDeletes(batch: BatchAttempt): Promise<Outcomes> {
  const { ctx, tx, effects, operations } = batch;
  const all = operations.flatMap((one) => one.sandboxIds);
  await move(tx, all, "delete"); // unless the api has done so already
  const due = (await sandboxesOf(tx, all)).filter((row) => row.state === "deleting");
  const left = await withoutGone(batch, due);
  const outcomes: Outcomes = new Map();
  const assignments: Assignment[] = [];
  for (const operation of operations) {
    const nodes = new Set(operation.sandboxIds.flatMap((id) => left.get(id)?.nodeId ?? []));
    if (nodes.size > 0) assignments.push({ operation, nodeId: nodes.size === 1 ? ([...nodes][0] ?? null) : null });
    else {
      await settleDelete(ctx, tx, effects, operation);
      outcomes.set(operation.id, ENDED);
    }
  }
  for (const operation of await assignMany(tx, assignments, ctx.now())) {
    effects.jobs.push(
      ...deleteJobs(
        operation,
        operation.sandboxIds.flatMap((id) => left.get(id) ?? []),
      ),
    );
    outcomes.set(operation.id, PLACED);
  }
  return outcomes;
}

/** Ends what is on no node, or on a lost one: then its time ends when that was last heard of. Returns the rest. */
async function withoutGone({ ctx, tx }: BatchAttempt, due: readonly Sandbox[]): Promise<Map<string, Sandbox>> {
  const nodes = await proofOfLife(tx, due);
  const now = ctx.now();
  const gone = due.flatMap(({ id, nodeId }) => {
    const seen = nodeId === null ? undefined : nodes.get(nodeId);
    return seen === "alive" ? [] : [{ sandboxId: id, endedAt: seen ?? now }];
  });
  if (gone.length > 0) {
    await moveToDeleted(tx, gone);
    await closeMeters(tx, gone);
  }
  const ended = new Set(gone.map((one) => one.sandboxId));
  return new Map(due.filter((row) => !ended.has(row.id)).map((row) => [row.id, row]));
}

/** For each node: alive, or when it was last heard of. */
async function proofOfLife(tx: Tx, sandboxes: readonly Sandbox[]): Promise<Map<string, "alive" | Date>> {
  const ids = [...new Set(sandboxes.flatMap((row) => row.nodeId ?? []))];
  if (ids.length === 0) return new Map();
  const nodes = await tx.node.findMany({ where: { id: { in: ids } }, select: { id: true, state: true, heartbeatAt: true } });
  return new Map(nodes.map((node) => [node.id, node.state === "lost" ? node.heartbeatAt : "alive"]));
}
