// SPDX-License-Identifier: Apache-2.0
import { openMeters } from "../meter/meter.ts";
import { strayDelete } from "../node/stray-delete.ts";
import { fail, failure, finish } from "../operation/end.ts";
import { moveToRunning, sandboxesOf } from "../sandbox/move.ts";
import { requestDelete } from "../sandbox/request-delete.ts";
import type { Finishing } from "./finished.ts";

/** All children run, or none is kept. */
export async function forked(finishing: Finishing<"fork">): Promise<void> {
  const { ctx, tx, effects, operation, at, result } = finishing;
  const mine = new Set(operation.sandboxIds);
  const children = result.children.filter((child) => mine.has(child.sandboxId));
  const waiting = (await sandboxesOf(tx, operation.sandboxIds)).filter((row) => row.state === "starting" || row.state === "placing");
  if (waiting.length !== mine.size || new Set(children.map((child) => child.sandboxId)).size !== mine.size) return undo(finishing);
  const running = await moveToRunning(tx, children, {
    forkTimeMs: result.forkTimeMs,
    createTimeMs: at.getTime() - operation.createdAt.getTime(),
  });
  // A row that another transaction changed just now: the next try sees what became of it.
  if (running.length !== mine.size) throw new Error(`children of ${operation.id} changed while their fork was recorded`);
  await openMeters(tx, running);
  await finish(ctx, tx, effects, operation, result);
}

async function undo({ ctx, tx, effects, operation, nodeId, result }: Finishing<"fork">): Promise<void> {
  const rows = await sandboxesOf(tx, operation.sandboxIds);
  const reason = `fork ${operation.id} is incomplete: ${result.children.length} of ${operation.sandboxIds.length} children were reported, and some may have been deleted meanwhile`;
  await requestDelete(
    tx,
    effects,
    rows.filter((row) => row.state !== "deleting"),
    ctx.now(),
    reason,
  );
  await strayDelete(
    ctx,
    tx,
    effects,
    nodeId,
    operation.tenantId,
    rows.filter((row) => row.state === "deleted").map((row) => row.id),
  );
  await fail(ctx, tx, effects, operation, failure("fork_failed", reason));
}
