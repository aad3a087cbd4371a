// SPDX-License-Identifier: Apache-2.0
/** Which nodes would do, best first. */
import type { Tx } from "@collimate/db";
import type { Policy } from "../config.ts";
import { fitsEmpty, type Need, reserveRoom } from "../node/room.ts";
import type { Attempt } from "./attempt.ts";

export interface Candidate {
  readonly id: string;
  readonly memoryTotalMib: number;
  readonly slotsTotal: number;
  /** Holds the snapshot that is asked for. */
  readonly has: boolean;
}

const MOST = 2_000;

/** Live nodes: those that hold the snapshot first (in memory before on disk), then by free memory. */
export async function liveNodes(attempt: Pick<Attempt, "ctx" | "tx">, snapshotId: string | null): Promise<Candidate[]> {
  const { tx, ctx } = attempt;
  return tx.$queryRaw<Candidate[]>`
    SELECT n."id", n."memoryTotalMib", n."slotsTotal", s."nodeId" IS NOT NULL AS "has"
    FROM "nodes" n LEFT JOIN "node_snapshots" s ON s."nodeId" = n."id" AND s."snapshotId" = ${snapshotId}
    WHERE n."state" = 'live' AND n."heartbeatAt" > ${freshSince(ctx.now(), ctx.policy)}
    ORDER BY (s."nodeId" IS NOT NULL) DESC, s."resident" DESC NULLS LAST, n."memoryFreeMib" - n."reservedMib" DESC, n."id"
    LIMIT ${MOST}`;
}

/** The node, if it is live. */
export async function liveNode(attempt: Pick<Attempt, "ctx" | "tx">, nodeId: string | null): Promise<Candidate | undefined> {
  if (nodeId === null) return undefined;
  const { tx, ctx } = attempt;
  const row = await tx.node.findFirst({ where: { id: nodeId, state: "live", heartbeatAt: { gt: freshSince(ctx.now(), ctx.policy) } } });
  return row ? { id: row.id, memoryTotalMib: row.memoryTotalMib, slotsTotal: row.slotsTotal, has: true } : undefined;
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
export async function takeRoom(attempt: Attempt, candidates: readonly Candidate[], need: Need): Promise<Choice> {
  const { ctx, tx, keptFree } = attempt;
  const able = candidates.filter((node) => fitsEmpty(node, need, ctx.policy));
  if (able.length === 0) return { kind: "too_large" };
  for (const node of able) {
    if (!keptFree.has(node.id) && (await reserveRoom(tx, node.id, need, ctx.policy))) return { kind: "taken", nodeId: node.id };
  }
  return { kind: "full", nodes: able.map((node) => node.id) };
}

/** What one more sandbox of this snapshot is expected to need for itself; not its limit, which few ever reach. */
export async function privateMib(tx: Tx, snapshotId: string | null, limitMib: number, policy: Policy): Promise<number> {
  const snapshot = snapshotId === null ? null : await tx.snapshot.findUnique({ where: { id: snapshotId }, select: { privateBytes: true } });
  return Math.min(limitMib, policy.childMib + Math.ceil(Number(snapshot?.privateBytes ?? 0n) / 1_048_576));
}
