// SPDX-License-Identifier: Apache-2.0
/** One look at everything that waits for a place. */
import type { Context } from "../context.ts";
import { attemptPlacement, canBeMany } from "./attempt.ts";
import { BATCH, fairBacklog, freeingBacklog, type Waiting } from "./backlog.ts";
import { Claims } from "./claims.ts";
import type { Outcomes } from "./held.ts";

/** Most operations that are placed in one transaction. */
const TOGETHER = 64;

/** Looks until there is nothing more to place. */
export async function placementPass(ctx: Context): Promise<void> {
  for (;;) {
    const freeing = await freeingBacklog(ctx);
    const freed = await tryAll(ctx, freeing, new Claims());
    const waiting = await fairBacklog(ctx);
    const claims = new Claims();
    const placed = await tryAll(ctx, waiting, claims);
    for (const [why, count] of claims.waiting) ctx.metrics.waiting.set({ why }, count);
    const more = (freeing.length === BATCH && freed > 0) || (waiting.length === BATCH && placed > 0);
    if (!more) return;
  }
}

/** Returns how many of them wait no more. */
async function tryAll(ctx: Context, backlog: readonly Waiting[], claims: Claims): Promise<number> {
  let moved = 0;
  for (const run of runs(backlog)) {
    const due = run.filter((one) => !claims.isBehind(one));
    if (due.length === 0) continue;
    const outcomes = await tryRun(ctx, due, claims);
    for (const outcome of outcomes.values()) if (outcome.kind === "placed" || outcome.kind === "ended") moved += 1;
  }
  return moved;
}

/** Neighbours of one kind go together where they can; the order stays. */
function runs(backlog: readonly Waiting[]): Waiting[][] {
  const cut: Waiting[][] = [];
  for (const one of backlog) {
    const last = cut.at(-1);
    if (last && last.length < TOGETHER && last[0]?.kind === one.kind && canBeMany(one.kind)) last.push(one);
    else cut.push([one]);
  }
  return cut;
}

/** A fault with one operation must not keep the others from their places: those that fail together are tried apart. */
async function tryRun(ctx: Context, run: readonly Waiting[], claims: Claims): Promise<Outcomes> {
  try {
    return await attemptPlacement(ctx, run, claims);
  } catch (error) {
    const ids = run.map((one) => one.id);
    ctx.log.error(
      { err: error, operationIds: ids },
      run.length > 1 ? "placing failed; each is tried alone" : "placing failed; it will be tried again",
    );
    if (run.length === 1) return new Map();
    const apart: Outcomes = new Map();
    for (const one of run) for (const [id, outcome] of await tryRun(ctx, [one], claims)) apart.set(id, outcome);
    return apart;
  }
}
