// SPDX-License-Identifier: Apache-2.0
/** A try at some operations, in one transaction that holds their rows. */
import { type OperationKind, operationKindSchema } from "@collimate/contracts";
import type { Operation } from "@collimate/db";
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import { claimQueued } from "../operation/lock.ts";
import type { Waiting } from "./backlog.ts";
import { placeBake } from "./bake.ts";
import type { Claims } from "./claims.ts";
import { placeCreates } from "./create.ts";
import { placeDeletes } from "./delete.ts";
import { placeDrop } from "./drop-template.ts";
import { placeFork } from "./fork.ts";
import { type Attempt, type Held, noteWaiting, type Outcomes } from "./held.ts";
import { type Outcome, TAKEN } from "./outcome.ts";
import { placeResume } from "./resume.ts";
import { placeSuspend } from "./suspend.ts";

/** The kinds of which many come at once: a step of them together is as cheap as a step of one. */
const PLACE_MANY = { create: placeCreates, delete: placeDeletes } as const;
const PLACE_ONE: Record<Exclude<OperationKind, keyof typeof PLACE_MANY>, (attempt: Attempt) => Promise<Outcome>> = {
  bake: placeBake,
  fork: placeFork,
  suspend: placeSuspend,
  resume: placeResume,
  drop_template: placeDrop,
};

export function canBeMany(kind: OperationKind): kind is keyof typeof PLACE_MANY {
  return kind in PLACE_MANY;
}

/** Tries one operation, or several of one kind of those that can be many. */
export async function attemptPlacement(ctx: Context, waiting: readonly Waiting[], claims: Claims): Promise<Outcomes> {
  const { outcomes, operations } = await change(ctx, async (tx, effects) => {
    const claimed = await claimQueued(
      tx,
      waiting.map((one) => one.id),
    );
    return { operations: claimed, outcomes: await place({ ctx, tx, effects, claims }, claimed) };
  });
  for (const { id } of waiting) if (!outcomes.has(id)) outcomes.set(id, TAKEN);
  for (const operation of operations) if (outcomes.get(operation.id)?.kind === "placed") count(ctx, operation);
  return outcomes;
}

async function place(held: Held, operations: readonly Operation[]): Promise<Outcomes> {
  const [operation] = operations;
  if (!operation) return new Map();
  const kind = operationKindSchema.parse(operation.kind);
  if (canBeMany(kind)) return PLACE_MANY[kind]({ ...held, operations });
  const outcome = await PLACE_ONE[kind]({ ...held, operation });
  if (outcome.kind === "waits") noteWaiting(held, operation, outcome);
  return new Map([[operation.id, outcome]]);
}

function count(ctx: Context, operation: Operation): void {
  ctx.metrics.placed.inc({ kind: operation.kind });
  ctx.metrics.placementWait.observe({ kind: operation.kind }, Math.max(ctx.now().getTime() - operation.createdAt.getTime(), 0) / 1_000);
}
