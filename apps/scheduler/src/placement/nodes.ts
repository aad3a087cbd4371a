// SPDX-License-Identifier: Apache-2.0
/** Which nodes would do, and how much they must have. */
import type { Node, Tx } from "@collimate/db";
import type { Policy } from "../config.ts";
import { fitsEmpty, type Need, reserveRoom } from "../node/room.ts";
import type { Attempt } from "./held.ts";

export type Candidate = Pick<Node, "id" | "memoryTotalMib" | "slotsTotal">;

/** Live nodes, those with most free memory first. */
export function liveNodes({ tx, ctx }: Attempt): Promise<Candidate[]> {
  return tx.$queryRaw<Candidate[]>`
    SELECT "id", "memoryTotalMib", "slotsTotal" FROM "nodes"
    WHERE "state" = 'live' AND "heartbeatAt" > ${freshSince(ctx.now(), ctx.policy)} ORDER BY "memoryFreeMib" - "reservedMib" DESC, "id"`;
}

/** The node, if it answers. New work is not for one that drains. */
export async function homeNode(
  { tx, ctx }: Attempt,
  nodeId: string | null,
  purpose: "new work" | "winding up",
): Promise<Candidate | undefined> {
  if (nodeId === null) return undefined;
  const states = purpose === "new work" ? ["live"] : ["live", "draining"];
  const row = await tx.node.findFirst({
    where: { id: nodeId, state: { in: states }, heartbeatAt: { gt: freshSince(ctx.now(), ctx.policy) } },
  });
  return row ?? undefined;
}

export function freshSince(now: Date, policy: Policy): Date {
  return new Date(now.getTime() - policy.nodeFreshMs);
}

export type Choice =
  | { readonly kind: "taken"; readonly nodeId: string }
  | { readonly kind: "full"; readonly nodes: readonly string[] }
  /** Larger than every node, even an empty one. */
  | { readonly kind: "too_large" };

/** Reserves room on the first candidate that has it. */
export async function takeRoom({ ctx, tx, claims, operation }: Attempt, candidates: readonly Candidate[], need: Need): Promise<Choice> {
  const able = candidates.filter((node) => fitsEmpty(node, need, ctx.policy));
  if (able.length === 0) return { kind: "too_large" };
  for (const node of able) {
    if (claims.mayTake(operation.tenantId, node.id, need) && (await reserveRoom(tx, node.id, need, ctx.policy)))
      return { kind: "taken", nodeId: node.id };
  }
  return { kind: "full", nodes: able.map((node) => node.id) };
}

/** Private memory that a restore of each snapshot was measured to need, in bytes. */
export async function snapshotSizes(tx: Tx, ids: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await tx.snapshot.findMany({ where: { id: { in: [...ids] } }, select: { id: true, privateBytes: true } });
  return new Map(rows.map((row) => [row.id, row.privateBytes]));
}

/** What one more sandbox of a snapshot is expected to need for itself; not its limit, which few ever reach. */
export function privateMib(snapshotPrivateBytes: bigint | undefined, limitMib: number, policy: Policy): number {
  return Math.min(limitMib, policy.childMib + Math.ceil(Number(snapshotPrivateBytes ?? 0n) / 1_048_576));
}
