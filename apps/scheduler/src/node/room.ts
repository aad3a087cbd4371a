// SPDX-License-Identifier: Apache-2.0
/** The room of nodes: reserving it, and counting again what is reserved. */
import { type Database, Prisma, type Tx } from "@collimate/db";
import type { Logger } from "@collimate/telemetry";
import type { Policy } from "../config.ts";

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
  return need.slots <= node.slotsTotal && need.mib <= node.memoryTotalMib - keptFreeMib(node.memoryTotalMib, policy);
}

export function keptFreeMib(totalMib: number, policy: Policy): number {
  return Math.max(policy.reserveMib, Math.floor(totalMib / 20));
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

/** Counts again where something has ended; of many ends on a node at once, all together. */
export class RoomCounter {
  readonly #db: Database;
  readonly #policy: Policy;
  readonly #log: Logger;
  /** What came in while a count of the node was going on. */
  readonly #next = new Map<string, Freed[]>();

  constructor(db: Database, policy: Policy, log: Logger) {
    this.#db = db;
    this.#policy = policy;
    this.#log = log;
  }

  /** Resolves when it is counted, or at once when the count under way will be followed by another. */
  async count(freed: Freed): Promise<void> {
    const waiting = this.#next.get(freed.nodeId);
    if (waiting) return void waiting.push(freed);
    for (let due = [freed]; due.length > 0; due = this.#next.get(freed.nodeId) ?? []) {
      this.#next.set(freed.nodeId, []);
      await this.#count(freed.nodeId, due).catch((error: unknown) =>
        this.#log.warn({ err: error, nodeId: freed.nodeId }, "room was not counted; the next heartbeat will"),
      );
    }
    this.#next.delete(freed.nodeId);
  }

  /**
   * Believes in freed slots before the next heartbeat says so: a trainer that deletes one group and forks the next does not
   * wait for it. Were it wrong, the node would refuse and the operation be placed again.
   */
  async #count(nodeId: string, freed: readonly Freed[]): Promise<void> {
    await this.#db.client.$transaction(async (tx) => {
      const [node] = await tx.$queryRaw<{ heartbeatAt: Date }[]>`SELECT "heartbeatAt" FROM "nodes" WHERE "id" = ${nodeId} FOR UPDATE`;
      if (!node) return;
      const slots = freed.filter((one) => one.at > node.heartbeatAt).reduce((sum, one) => sum + one.slots, 0);
      if (slots > 0)
        await tx.$executeRaw`UPDATE "nodes" SET "slotsFree" = LEAST("slotsTotal", "slotsFree" + ${slots}) WHERE "id" = ${nodeId}`;
      await recount(tx, nodeId, this.#policy);
    });
  }
}
