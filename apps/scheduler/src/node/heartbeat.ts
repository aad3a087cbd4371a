// SPDX-License-Identifier: Apache-2.0
/** What a node says of itself: its room, its snapshots, and what lives on it. */
import type { Heartbeat } from "@collimate/contracts";
import type { Node, Tx } from "@collimate/db";
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import type { Applied } from "../report/apply.ts";
import { recordRoll } from "./roll-call.ts";
import { recount } from "./room.ts";
import { recordSnapshots } from "./snapshots.ts";
import { deleteStrays } from "./strays.ts";

export async function applyHeartbeat(ctx: Context, beat: Heartbeat): Promise<Applied> {
  const applied = await change(ctx, async (tx, effects): Promise<Applied> => {
    const before = await enter(tx, beat);
    const at = new Date(beat.at);
    if (before && before.heartbeatAt >= at) return "stale";
    await tx.node.update({
      where: { id: beat.nodeId },
      data: { ...columns(beat), state: beat.draining ? "draining" : "live", version: { increment: 1 } },
    });
    if (before) await recordRoll(ctx, tx, beat, before);
    await recordSnapshots(tx, beat);
    await deleteStrays(ctx, tx, effects, beat);
    await recount(tx, beat.nodeId, ctx.policy);
    tell(ctx, beat, before);
    return "applied";
  });
  // Its room may have grown. The pass costs one query when nothing waits.
  if (applied === "applied") ctx.wakePlacement();
  return applied;
}

/** The node's row, locked until the transaction ends; undefined when it was made just now. */
async function enter(tx: Tx, beat: Heartbeat): Promise<Node | undefined> {
  const held = () => tx.$queryRaw<Node[]>`SELECT * FROM "nodes" WHERE "id" = ${beat.nodeId} FOR UPDATE`;
  const [known] = await held();
  if (known) return known;
  const { count } = await tx.node.createMany({ data: [{ id: beat.nodeId, ...columns(beat) }], skipDuplicates: true });
  return count === 1 ? undefined : (await held())[0];
}

function columns(beat: Heartbeat) {
  return { url: beat.url, bootId: beat.bootId, startId: beat.startId, ...beat.room, facts: beat.facts, heartbeatAt: new Date(beat.at) };
}

function tell(ctx: Context, beat: Heartbeat, before: Node | undefined): void {
  const node = { nodeId: beat.nodeId, url: beat.url };
  if (!before) ctx.log.info({ ...node, ...beat.room, ...beat.facts }, "a node joined");
  else if (before.state === "lost") ctx.log.info(node, "a lost node is back");
  else if (before.startId !== beat.startId) ctx.log.warn({ ...node, startId: beat.startId }, "an agent was started anew");
}
