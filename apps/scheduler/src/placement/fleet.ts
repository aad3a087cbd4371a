// SPDX-License-Identifier: Apache-2.0
/** The live nodes as one transaction sees them, with what it has already planned for them. */
import { nodeFactsSchema } from "@collimate/contracts";
import type { Tx } from "@collimate/db";
import type { Policy } from "../config.ts";
import type { Context } from "../context.ts";
import { fitsEmpty, keptFreeMib, type Need } from "../node/room.ts";
import { type Choice, freshSince } from "./nodes.ts";

interface Member {
  readonly id: string;
  readonly memoryTotalMib: number;
  readonly slotsTotal: number;
  /** Nodes with the same can restore each other's snapshots. */
  readonly kind: string;
  freeMib: number;
  freeSlots: number;
}

export class Fleet {
  readonly #members: readonly Member[];
  /** snapshot -> node -> in memory there */
  readonly #holding: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
  /** Snapshots that the registry has. */
  readonly #pushed: ReadonlySet<string>;
  readonly #policy: Policy;

  constructor(
    members: readonly Member[],
    holding: ReadonlyMap<string, ReadonlyMap<string, boolean>>,
    pushed: ReadonlySet<string>,
    policy: Policy,
  ) {
    this.#members = members;
    this.#holding = holding;
    this.#pushed = pushed;
    this.#policy = policy;
  }

  /**
   * Nodes that hold the snapshot: in memory before on disk, then by free memory; when these are full, one like them that can
   * fetch it; any node when none holds it. The chosen one's room counts as taken.
   */
  choose(snapshotId: string, need: Need, mayTake: (nodeId: string) => boolean): Choice | { readonly kind: "no_node" } {
    if (this.#members.length === 0) return { kind: "no_node" };
    const holding = this.#holding.get(snapshotId);
    const near = this.#members.filter((node) => holding?.has(node.id));
    const kinds = new Set(near.map((node) => node.kind));
    const reachable = this.#pushed.has(snapshotId) ? this.#members.filter((node) => kinds.has(node.kind)) : near;
    const able = (near.length > 0 ? reachable : this.#members).filter((node) => fitsEmpty(node, need, this.#policy));
    if (able.length === 0) return { kind: "too_large" };
    const nearness = (node: Member) => (holding?.get(node.id) ? 2 : holding?.has(node.id) ? 1 : 0);
    const open = able.filter((node) => node.freeSlots >= need.slots && node.freeMib >= need.mib && mayTake(node.id));
    const best = open.reduce<Member | undefined>(
      (a, b) => (a && (nearness(a) - nearness(b) || a.freeMib - b.freeMib) >= 0 ? a : b),
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
    select: { nodeId: true, snapshotId: true, resident: true, pushed: true },
  });
  const members = nodes.map((node) => ({
    id: node.id,
    memoryTotalMib: node.memoryTotalMib,
    slotsTotal: node.slotsTotal,
    kind: kindOf(node.facts),
    freeMib: node.memoryFreeMib - node.reservedMib - keptFreeMib(node.memoryTotalMib, ctx.policy),
    freeSlots: node.slotsFree - node.reservedSlots,
  }));
  const holding = new Map(
    [...Map.groupBy(held, (row) => row.snapshotId)].map(([id, rows]) => [id, new Map(rows.map((row) => [row.nodeId, row.resident]))]),
  );
  const pushed = new Set(held.filter((row) => row.pushed).map((row) => row.snapshotId));
  return new Fleet(members, holding, pushed, ctx.policy);
}

function kindOf(facts: unknown): string {
  const { kernel, criu, arch, cpuFeaturesHash } = nodeFactsSchema.parse(facts);
  return [kernel, criu, arch, cpuFeaturesHash].join(" ");
}
