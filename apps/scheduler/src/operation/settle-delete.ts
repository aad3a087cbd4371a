// SPDX-License-Identifier: Apache-2.0
import type { NodeResult } from "@collimate/contracts";
import type { Operation, Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { sandboxesOf } from "../sandbox/move.ts";
import { finish } from "./end.ts";

/** Ends a delete when nothing of it is left to be done, on whatever node. */
export async function settleDelete(ctx: Context, tx: Tx, effects: Effects, operation: Operation): Promise<boolean> {
  const rows = await sandboxesOf(tx, operation.sandboxIds);
  if (rows.some((row) => row.state === "deleting")) return false;
  const ended = rows.map((row) => ({ sandboxId: row.id, endedAt: (row.endedAt ?? ctx.now()).getTime(), existed: row.startedAt !== null }));
  return finish(ctx, tx, effects, operation, { kind: "delete", ended } satisfies NodeResult);
}
