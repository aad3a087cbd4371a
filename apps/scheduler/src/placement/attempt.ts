// SPDX-License-Identifier: Apache-2.0
/** One try at one operation, in a transaction that holds the operation's row. */
import { type OperationKind, operationKindSchema } from "@collimate/contracts";
import type { Operation, Tx } from "@collimate/db";
import { change, type Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { claimQueued } from "../operation/lock.ts";
import { placeBake } from "./bake.ts";
import { placeCreate } from "./create.ts";
import { placeDelete } from "./delete.ts";
import { placeDrop } from "./drop-template.ts";
import { placeFork } from "./fork.ts";
import { type Outcome, TAKEN } from "./outcome.ts";
import { placeResume } from "./resume.ts";
import { placeSuspend } from "./suspend.ts";

export interface Attempt {
  readonly ctx: Context;
  readonly tx: Tx;
  readonly effects: Effects;
  readonly operation: Operation;
  /** Nodes whose room is kept for those who wait longer. */
  readonly keptFree: ReadonlySet<string>;
}

const PLACE: Record<OperationKind, (attempt: Attempt) => Promise<Outcome>> = {
  bake: placeBake,
  create: placeCreate,
  fork: placeFork,
  suspend: placeSuspend,
  resume: placeResume,
  delete: placeDelete,
  drop_template: placeDrop,
};

export async function attemptPlacement(ctx: Context, operationId: string, keptFree: ReadonlySet<string>): Promise<Outcome> {
  let waitedMs = 0;
  let kind: OperationKind | undefined;
  const outcome = await change(ctx, async (tx, effects) => {
    const operation = await claimQueued(tx, operationId);
    if (!operation) return TAKEN;
    kind = operationKindSchema.parse(operation.kind);
    waitedMs = ctx.now().getTime() - operation.createdAt.getTime();
    return PLACE[kind]({ ctx, tx, effects, operation, keptFree });
  });
  if (outcome.kind === "placed" && kind) {
    ctx.metrics.placed.inc({ kind });
    ctx.metrics.placementWait.observe({ kind }, Math.max(waitedMs, 0) / 1_000);
  }
  return outcome;
}
