// SPDX-License-Identifier: Apache-2.0
/** The room of nodes: reserving it, and counting again what is reserved. */
import { Prisma, type Tx } from "@collimate/db";
import type { Policy } from "../config.ts";
import type { Context } from "../context.ts";

export interface Need {
  readonly mib: number;
  readonly slots: number;
}

/**
 * Takes room, if it is there, in one statement: compare and set. Free memory is what the last heartbeat measured less what was
 * promised since; the policy's reserve stays free.
 */
export async function reserveRoom(tx: Tx, nodeId: string, need: Need, policy: Policy): Promise<boolean> {
  const count = await tx.$executeRaw`
    UPDATE "nodes" SET "reservedMib" = "reservedMib" + ${need.mib}, "reservedSlots" = "reservedSlots" + ${need.slots}, "version" = "version" + 1
    WHERE "id" = ${nodeId} AND "state" = 'live'
      AND "slotsFree" - "reservedSlots" >= ${need.slots}
      AND "memoryFreeMib" - "reservedMib" - ${need.mib} >= GREATEST(${policy.reserveMib}, "memoryTotalMib" / 20)`;
  return count === 1;
}

/** Could an empty node of this size take it? */
export function fitsEmpty(node: { readonly memoryTotalMib: number; readonly slotsTotal: number }, need: Need, policy: Policy): boolean {
  return need.slots <= node.slotsTotal && need.mib <= node.memoryTotalMib - Math.max(policy.reserveMib, Math.floor(node.memoryTotalMib / 20));
}

/** Holds the node's row until the transaction ends, so that nobody reserves meanwhile. */
export async function lockNode(tx: Tx, nodeId: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`SELECT 1 FROM "nodes" WHERE "id" = ${nodeId} FOR UPDATE`;
  return rows.length === 1;
}

/**
 * Sets what is reserved to what the rows say: sandboxes placed but not yet seen in a heartbeat, and bakes under way.
 * The node's row must be locked first, in a statement before: only then does this one see what the last holder committed.
 */
export async function recount(tx: Tx, nodeId: string, policy: Policy): Promise<void> {
  await tx.$executeRaw(Prisma.sql`
    WITH placed AS (
      SELECT COALESCE(SUM("reservedMib"), 0) AS mib, COUNT(*) AS slots FROM "sandboxes"
      WHERE "nodeId" = ${nodeId} AND "reservedMib" > 0 AND "state" IN ('placing', 'starting', 'resuming', 'running')
    ), bakes AS (
      SELECT COUNT(*) AS slots FROM "operations" WHERE "state" = 'assigned' AND "kind" = 'bake' AND "nodeId" = ${nodeId}
    )
    UPDATE "nodes" SET "reservedMib" = placed.mib + bakes.slots * ${policy.bakeMib}, "reservedSlots" = placed.slots + bakes.slots, "version" = "version" + 1
    FROM placed, bakes WHERE "nodes"."id" = ${nodeId}`);
}

/** Something on a node has ended. */
export interface Freed {
  readonly nodeId: string;
  /** Slots that came free and that the node's last heartbeat counted as taken. */
  readonly slots: number;
  readonly at: Date;
}

/**
 * Counts again, and believes in freed slots before the next heartbeat says so: a trainer that deletes one group and forks the
 * next does not wait for it. Were it wrong, the node would refuse and the operation be placed again.
 */
export async function recountRoom(ctx: Context, { nodeId, slots, at }: Freed): Promise<void> {
  await ctx.db.client.$transaction(async (tx) => {
    if (!(await lockNode(tx, nodeId))) return;
    if (slots > 0) await tx.$executeRaw`UPDATE "nodes" SET "slotsFree" = LEAST("slotsTotal", "slotsFree" + ${slots}) WHERE "id" = ${nodeId} AND "heartbeatAt" < ${at}`;
    await recount(tx, nodeId, ctx.policy);
  });
}
