// SPDX-License-Identifier: Apache-2.0
/** What the placement of each kind is given: operations whose rows this transaction holds. */
import { operationKindSchema } from "@collimate/contracts";
import type { Operation, Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import type { Context } from "../context.ts";
import type { Claims } from "./claims.ts";
import type { Outcome, Waits } from "./outcome.ts";

export interface Held {
  readonly ctx: Context;
  readonly tx: Tx;
  readonly effects: Effects;
  /** Of those who came before in this pass. */
  readonly claims: Claims;
}

export interface Attempt extends Held {
  readonly operation: Operation;
}

/** Operations of one kind, in the order of their turn. */
export interface BatchAttempt extends Held {
  readonly operations: readonly Operation[];
}
/** By operation id. */
export type Outcomes = Map<string, Outcome>;

/** Those behind it in this pass do not take what it waits for. */
export function noteWaiting({ ctx, claims }: Held, operation: Operation, outcome: Waits): void {
  const kind = operationKindSchema.parse(operation.kind);
  const starving = ctx.now().getTime() - operation.createdAt.getTime() >= ctx.policy.starvingMs;
  claims.add({ tenantId: operation.tenantId, templateId: operation.templateId, kind }, outcome, starving);
}
