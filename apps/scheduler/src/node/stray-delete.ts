// SPDX-License-Identifier: Apache-2.0
/** Deletes of what a node has and should not: by node, because the database knows the sandbox elsewhere, as ended, or not at all. */
import { newId } from "@collimate/contracts";
import type { Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { nodeJobsOf } from "../placement/node-job.ts";

const AT_ONCE = 64;
const DEADLINE_MS = 5 * 60_000;

/** Owner of operations on sandboxes that no tenant is known for. */
export const SYSTEM_TENANT = "ten_system";

/** One at a time for each sandbox: while a delete of it is under way on the node, no second is made. */
export async function strayDelete(
  ctx: Context,
  tx: Tx,
  effects: Effects,
  nodeId: string,
  tenantId: string,
  sandboxIds: readonly string[],
): Promise<void> {
  const due = await withoutOpenDelete(tx, nodeId, sandboxIds);
  const now = ctx.now();
  for (let start = 0; start < due.length; start += AT_ONCE) {
    const operation = await tx.operation.create({
      data: {
        id: newId("operation"),
        tenantId,
        kind: "delete",
        state: "assigned",
        nodeId,
        sandboxIds: due.slice(start, start + AT_ONCE),
        request: { strays: true },
        createdAt: now,
        assignedAt: now,
        deadlineAt: new Date(now.getTime() + DEADLINE_MS),
      },
    });
    effects.jobs.push(...(await nodeJobsOf(tx, operation)));
  }
}

async function withoutOpenDelete(tx: Tx, nodeId: string, sandboxIds: readonly string[]): Promise<string[]> {
  if (sandboxIds.length === 0) return [];
  const open = await tx.operation.findMany({
    where: { kind: "delete", state: { in: ["queued", "assigned"] }, nodeId, sandboxIds: { hasSome: [...sandboxIds] } },
    select: { sandboxIds: true },
  });
  const busy = new Set(open.flatMap((row) => row.sandboxIds));
  return sandboxIds.filter((id) => !busy.has(id));
}
