// SPDX-License-Identifier: Apache-2.0
import type { Sandbox, Tx } from "@collimate/db";
import { closeMeters } from "../meter/meter.ts";
import { settleDelete } from "../operation/settle-delete.ts";
import { move, sandboxesOf } from "../sandbox/move.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./attempt.ts";
import { ENDED, type Outcome } from "./outcome.ts";

/** On the nodes that have the sandboxes, live or not: the job lies there until they are. Where no node can have it, it is gone at once. */
export async function placeDelete(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, effects, operation } = attempt;
  await move(tx, operation.sandboxIds, "delete");
  const due = (await sandboxesOf(tx, operation.sandboxIds)).filter((row) => row.state === "deleting");
  const lastSeen = await proofOfLife(tx, due);
  for (const sandbox of due) {
    const seen = sandbox.nodeId === null ? ctx.now() : lastSeen.get(sandbox.nodeId);
    if (seen === "alive") continue;
    await move(tx, [sandbox.id], "deleted", { endedAt: ctx.now(), reservedMib: 0 });
    await closeMeters(tx, [sandbox.id], seen ?? ctx.now());
  }
  if (await settleDelete(ctx, tx, effects, operation)) return ENDED;
  const nodes = new Set(due.map((row) => row.nodeId));
  return assign(attempt, { nodeId: nodes.size === 1 ? ([...nodes][0] ?? null) : null });
}

/** For each node: alive, or when it was last heard of. */
async function proofOfLife(tx: Tx, sandboxes: readonly Sandbox[]): Promise<Map<string, "alive" | Date>> {
  const ids = sandboxes.flatMap((row) => row.nodeId ?? []);
  const nodes = await tx.node.findMany({ where: { id: { in: ids } }, select: { id: true, state: true, heartbeatAt: true } });
  return new Map(nodes.map((node) => [node.id, node.state === "lost" ? node.heartbeatAt : "alive"]));
}
