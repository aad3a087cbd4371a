// SPDX-License-Identifier: Apache-2.0
/** Who of those that should run on a node is in its heartbeat, and who is not. */
import type { Heartbeat, SandboxState } from "@collimate/contracts";
import { type Node, Prisma, type Tx } from "@collimate/db";
import type { Context } from "../context.ts";
import { closeMeters } from "../meter/meter.ts";
import { move } from "../sandbox/move.ts";

/** A sandbox that this many heartbeats in a row do not list is gone; one may have been written while it was just being reported. */
const MISSES = 2;

interface Missing {
  readonly id: string;
  readonly missedBeats: number;
  readonly lastSeenAt: Date;
}

/** `before`: the node's row as the last heartbeat left it, so `before.heartbeatAt` is when all but the missing were last seen. */
export async function recordRoll(ctx: Context, tx: Tx, beat: Heartbeat, before: Node): Promise<void> {
  await lockChanging(tx, beat);
  await tx.sandbox.updateMany({
    where: {
      nodeId: beat.nodeId,
      id: { in: beat.sandboxes },
      OR: [{ missedBeats: { gt: 0 } }, { reservedMib: { gt: 0 } }],
      state: { in: ["running", "suspending", "deleting"] },
    },
    data: { missedBeats: 0, lastSeenAt: null, reservedMib: 0 },
  });
  const anew = before.startId !== beat.startId;
  const missing = await countMissing(tx, beat, before, anew ? ["running", "suspending"] : ["running"]);
  const gone = missing.filter((row) => anew || row.missedBeats >= MISSES);
  const reason = anew ? "its node's agent was started anew and it did not live on" : "it vanished from its node";
  for (const { id, lastSeenAt } of gone) {
    await move(tx, [id], "fail", { error: reason, endedAt: lastSeenAt, reservedMib: 0 });
    await closeMeters(tx, [{ sandboxId: id, endedAt: lastSeenAt }]);
    ctx.metrics.lostSandboxes.inc({ why: anew ? "agent_restart" : "vanished" });
    ctx.log.warn({ sandboxId: id, nodeId: beat.nodeId, reason, lastSeenAt }, "a sandbox was lost");
  }
}

/** Of those that the statements after it change, some are changed by reports of activity too: all take their rows in this order. */
async function lockChanging(tx: Tx, beat: Heartbeat): Promise<void> {
  await tx.$queryRaw`
    SELECT "id" FROM "sandboxes" WHERE "nodeId" = ${beat.nodeId} AND "state" IN ('running', 'suspending', 'deleting')
      AND ("missedBeats" > 0 OR "reservedMib" > 0 OR NOT ("id" = ANY (${beat.sandboxes})))
    ORDER BY "id" FOR UPDATE`;
}

/** Counts a miss for each, and keeps when it was last known to live. One that began after the heartbeat was written is not missing. */
function countMissing(tx: Tx, beat: Heartbeat, before: Node, states: readonly SandboxState[]): Promise<Missing[]> {
  return tx.$queryRaw<Missing[]>`
    UPDATE "sandboxes" SET "missedBeats" = "missedBeats" + 1,
      "lastSeenAt" = COALESCE("lastSeenAt", GREATEST(${before.heartbeatAt}::timestamptz, "startedAt", LEAST("lastActiveAt", ${new Date(beat.at)}::timestamptz)))
    WHERE "nodeId" = ${beat.nodeId} AND "state" IN (${Prisma.join([...states])}) AND "startedAt" < ${new Date(beat.at)} AND NOT ("id" = ANY (${beat.sandboxes}))
    RETURNING "id", "missedBeats", "lastSeenAt"`;
}
