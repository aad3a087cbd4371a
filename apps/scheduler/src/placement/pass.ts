// SPDX-License-Identifier: Apache-2.0
/** One look at everything that waits for a place. */
import type { Context } from "../context.ts";
import { attemptPlacement } from "./attempt.ts";
import { BATCH, fairBacklog, freeingBacklog, type Waiting } from "./backlog.ts";
import { Claims } from "./claims.ts";
import type { Outcome } from "./outcome.ts";

/** Looks until there is nothing more to place. */
export async function placementPass(ctx: Context): Promise<void> {
  for (;;) {
    const freeing = await freeingBacklog(ctx);
    const placedFreeing = await tryAll(ctx, freeing, new Claims());
    const waiting = await fairBacklog(ctx);
    const claims = new Claims();
    const placed = await tryAll(ctx, waiting, claims);
    for (const [why, count] of claims.waiting) ctx.metrics.waiting.set({ why }, count);
    const more = (freeing.length === BATCH && placedFreeing > 0) || (waiting.length === BATCH && placed > 0);
    if (!more) return;
  }
}

async function tryAll(ctx: Context, backlog: readonly Waiting[], claims: Claims): Promise<number> {
  let moved = 0;
  for (const waiting of backlog) {
    const outcome = await tryOne(ctx, waiting, claims);
    if (outcome?.kind === "placed" || outcome?.kind === "ended") moved += 1;
    if (outcome?.kind === "waits") {
      const starving = ctx.now().getTime() - waiting.createdAt.getTime() >= ctx.policy.starvingMs;
      claims.add(waiting.tenantId, outcome.why, outcome.full, starving);
    }
  }
  return moved;
}

/** A fault with one operation must not keep the others from their places. */
async function tryOne(ctx: Context, waiting: Waiting, claims: Claims): Promise<Outcome | undefined> {
  try {
    return await attemptPlacement(ctx, waiting.id, claims.keptFree(waiting.tenantId));
  } catch (error) {
    ctx.log.error({ err: error, operationId: waiting.id }, "placing failed; it will be tried again");
    return undefined;
  }
}
