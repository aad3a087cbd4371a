// SPDX-License-Identifier: Apache-2.0
/** Every change of state: one transaction, and after its commit what follows from it. */
import type { NodeJob, OperationEnd } from "@collimate/contracts";
import { Prisma, type Tx } from "@collimate/db";
import type { Context } from "./context.ts";
import type { Freed } from "./node/room.ts";
import { markStarted } from "./sandbox/move.ts";

/**
 * What is done when the transaction is committed. All of it may be lost in a crash: jobs are sent again by the sweep, ends
 * are found in the database by those who wait, room is counted again at the next heartbeat.
 */
export class Effects {
  readonly ends: { readonly operationId: string; readonly end: OperationEnd }[] = [];
  readonly jobs: { readonly nodeId: string; readonly job: NodeJob }[] = [];
  readonly room: Freed[] = [];
  placement = false;
}

const TRIES = 4;

export async function change<T>(ctx: Context, work: (tx: Tx, effects: Effects) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const effects = new Effects();
    let answer: T;
    try {
      answer = await ctx.db.client.$transaction((tx) => work(tx, effects));
    } catch (error) {
      if (attempt < TRIES && isTransient(error)) continue;
      throw error;
    }
    await follow(ctx, effects);
    return answer;
  }
}

async function follow(ctx: Context, effects: Effects): Promise<void> {
  const told = effects.ends.map(({ operationId, end }) => ctx.queues.publishOperation(operationId, end));
  const sent = effects.jobs.map(async ({ nodeId, job }) => {
    try {
      await ctx.queues.nodeQueue(nodeId).add(job);
    } catch (error) {
      ctx.log.warn({ err: error, nodeId, operationId: job.operationId }, "a job was not sent; the sweep will send it again");
    }
  });
  await Promise.all([...told, ...sent, markJobs(ctx, effects.jobs), ...effects.room.map((freed) => ctx.room.count(freed))]);
  if (effects.placement || effects.room.length > 0) ctx.wakePlacement();
}

/** Only for those who look: a sandbox runs from either state. */
async function markJobs(ctx: Context, jobs: Effects["jobs"]): Promise<void> {
  await markStarted(
    ctx,
    jobs.map((one) => one.job),
  ).catch((error: unknown) => ctx.log.warn({ err: error }, "a start was not noted"));
}

/** Deadlocks and serialization failures: nothing happened, and the same again may work (PostgreSQL manual, 13.5). */
function isTransient(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === "P2034") return true;
  return error instanceof Error && /deadlock detected|could not serialize|40P01|40001/.test(error.message);
}
