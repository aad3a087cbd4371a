// SPDX-License-Identifier: Apache-2.0
/** What is looked for again and again, whatever was missed. */
import type { Context } from "../context.ts";
import { sweepLostNodes } from "../node/lost.ts";
import { reapOverdue } from "../reap/deadlines.ts";
import { reapFailed, reapIdle } from "../reap/idle.ts";
import { reapUnclaimed } from "../reap/leases.ts";
import { forgetOperations, repeatDeletes, repeatDrops } from "../reap/leftovers.ts";
import { resendMissing } from "../reap/resend.ts";

export interface Sweep {
  readonly name: string;
  /** Sweeps between two runs: 1 is every time. */
  readonly every: number;
  readonly run: (ctx: Context) => Promise<void>;
}

export const SWEEPS: readonly Sweep[] = [
  { name: "lost-nodes", every: 1, run: sweepLostNodes },
  { name: "resend", every: 1, run: resendMissing },
  { name: "overdue", every: 1, run: reapOverdue },
  { name: "unclaimed", every: 1, run: reapUnclaimed },
  { name: "stuck-deletes", every: 1, run: repeatDeletes },
  { name: "idle", every: 2, run: reapIdle },
  { name: "failed", every: 12, run: reapFailed },
  { name: "left-snapshots", every: 12, run: repeatDrops },
  { name: "old-operations", every: 240, run: forgetOperations },
  { name: "placement", every: 1, run: async (ctx) => ctx.wakePlacement() },
];

/** One round. Of several schedulers one does each sweep; the lock goes with the connection, so a crashed one blocks nobody. */
export async function sweepOnce(ctx: Context, round: number): Promise<void> {
  for (const { name, every, run } of SWEEPS) {
    if (round % every !== 0) continue;
    const done = ctx.metrics.sweepSeconds.startTimer({ sweep: name });
    try {
      await ctx.db.withLock(`scheduler.sweep.${name}`, () => run(ctx));
    } catch (error) {
      ctx.log.error({ err: error, sweep: name }, "a sweep failed; it will run again");
    }
    done();
  }
}
