// SPDX-License-Identifier: Apache-2.0
/** The live nodes as one transaction sees them, with what it has already planned for them. */
import type { Tx } from "@collimate/db";
import type { Policy } from "../config.ts";
import type { Context } from "../context.ts";
import { fitsEmpty, keptFreeMib, type Need } from "../node/room.ts";
import { type Choice, freshSince } from "./nodes.ts";

interface Member {
  readonly id: string;
  readonly memoryTotalMib: number;
  readonly slotsTotal: number;
  freeMib: number;
  freeSlots: number;
}

export class Fleet {
  readonly #members: readonly Member[];
  /** snapshot -> node -> in memory there */
  readonly #holding: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
  readonly #policy: Policy;

  constructor(members: readonly Member[], holding: ReadonlyMap<string, ReadonlyMap<string, boolean>>, policy: Policy) {
    this.#members = members;
    this.#holding = holding;
    this.#policy = policy;
  }

  /** Nodes that hold the snapshot, if any does: in memory before on disk, then by free memory. The chosen one's room counts as taken. */
  choose(snapshotId: string, need: Need, mayTake: (nodeId: string) => boolean): Choice | { readonly kind: "no_node" } {
    if (this.#members.length === 0) return { kind: "no_node" };
    const holding = this.#holding.get(snapshotId);
    const near = this.#members.filter((node) => holding?.has(node.id));
    const able = (near.length > 0 ? near : this.#members).filter((node) => fitsEmpty(node, need, this.#policy));
    if (able.length === 0) return { kind: "too_large" };
    const resident = (node: Member) => (holding?.get(node.id) ? 1 : 0);
    const open = able.filter((node) => node.freeSlots >= need.slots && node.freeMib >= need.mib && mayTake(node.id));
    const best = open.reduce<Member | undefined>(
      (a, b) => (a && (resident(a) - resident(b) || a.freeMib - b.freeMib) >= 0 ? a : b),
      undefined,
    );
    if (!best) return { kind: "full", nodes: able.map((node) => node.id) };
    best.freeMib -= need.mib;
    best.freeSlots -= need.slots;
    return { kind: "taken", nodeId: best.id };
  }
}

export async function loadFleet({ tx, ctx }: { readonly tx: Tx; readonly ctx: Context }, snapshotIds: readonly string[]): Promise<Fleet> {
  const nodes = await tx.node.findMany({
    where: { state: "live", heartbeatAt: { gt: freshSince(ctx.now(), ctx.policy) } },
    orderBy: { id: "asc" },
  });
  const held = await tx.nodeSnapshot.findMany({
    where: { snapshotId: { in: [...snapshotIds] } },
    select: { nodeId: true, snapshotId: true, resident: true },
  });
  const members = nodes.map((node) => ({
    id: node.id,
    memoryTotalMib: node.memoryTotalMib,
    slotsTotal: node.slotsTotal,
    freeMib: node.memoryFreeMib - node.reservedMib - keptFreeMib(node.memoryTotalMib, ctx.policy),
    freeSlots: node.slotsFree - node.reservedSlots,
  }));
  const holding = new Map(
    [...Map.groupBy(held, (row) => row.snapshotId)].map(([id, rows]) => [id, new Map(rows.map((row) => [row.nodeId, row.resident]))]),
  );
  return new Fleet(members, holding, ctx.policy);
}
