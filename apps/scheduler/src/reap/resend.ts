// SPDX-License-Identifier: Apache-2.0
/** Jobs that Redis has lost are made again from Postgres: a flushed, replaced or restored Redis costs seconds, no operation. */
import type { Operation } from "@collimate/db";
import type { Context } from "../context.ts";
import { type AddressedJob, nodeJobsOf } from "../placement/node-job.ts";
import { markStarted } from "../sandbox/move.ts";

const AT_ONCE = 1_000;
/** So long the job of an operation just assigned may be on its way. */
const ON_ITS_WAY_MS = 2_000;
/** So long after the job ended its report may be on its way. */
const REPORT_MS = 30_000;

export async function resendMissing(ctx: Context): Promise<void> {
  const before = new Date(ctx.now().getTime() - ON_ITS_WAY_MS);
  const assigned = await ctx.db.client.operation.findMany({
    where: { state: "assigned", assignedAt: { lte: before } },
    orderBy: { assignedAt: "asc" },
    take: AT_ONCE,
  });
  for (const operation of assigned) {
    try {
      await resend(ctx, operation);
    } catch (error) {
      ctx.log.error({ err: error, operationId: operation.id }, "a job could not be sent again");
    }
  }
}

async function resend(ctx: Context, operation: Operation): Promise<void> {
  for (const addressed of await nodeJobsOf(ctx.db.client, operation)) {
    const state = await ctx.queues.nodeQueue(addressed.nodeId).state(operation.id, operation.attempt);
    // Its report should have come: the agent is asked again, and answers from its journal.
    if (state === "absent" || (state === "ended" && isReportOverdue(ctx, operation))) await send(ctx, addressed);
  }
}

async function send(ctx: Context, { nodeId, job }: AddressedJob): Promise<void> {
  await ctx.queues.nodeQueue(nodeId).repeat(job);
  await markStarted(ctx, [job]);
  ctx.metrics.resent.inc();
  ctx.log.warn({ nodeId, operationId: job.operationId, attempt: job.attempt }, "a job was missing and was sent again");
}

function isReportOverdue(ctx: Context, operation: Operation): boolean {
  return operation.assignedAt !== null && ctx.now().getTime() - operation.assignedAt.getTime() > REPORT_MS;
}
