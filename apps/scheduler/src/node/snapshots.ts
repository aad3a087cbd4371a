// SPDX-License-Identifier: Apache-2.0
import type { Heartbeat } from "@collimate/contracts";
import type { Tx } from "@collimate/db";

/** Which snapshots the node holds, and how warm: rewritten by each heartbeat. Deleted ones are not entered anew: their removal may be under way. */
export async function recordSnapshots(tx: Tx, beat: Heartbeat): Promise<void> {
  const seenAt = new Date(beat.at);
  const rows = JSON.stringify(beat.snapshots.map((one) => ({ ...one, privateBytes: Math.max(0, Math.round(one.privateBytes)) })));
  await tx.$executeRaw`
    INSERT INTO "node_snapshots" ("nodeId", "snapshotId", "templateId", "resident", "warm", "frozen", "privateBytes", "pushed", "seenAt")
    SELECT ${beat.nodeId}, e."snapshotId", e."templateId", e."resident", e."warm", e."frozen", e."privateBytes", e."pushed", ${seenAt}::timestamptz
    FROM jsonb_to_recordset(${rows}::jsonb) AS e("snapshotId" TEXT, "templateId" TEXT, "resident" BOOLEAN, "warm" INTEGER, "frozen" INTEGER, "privateBytes" BIGINT, "pushed" BOOLEAN)
    WHERE NOT EXISTS (SELECT 1 FROM "snapshots" d WHERE d."id" = e."snapshotId" AND d."deletedAt" IS NOT NULL)
    ON CONFLICT ("nodeId", "snapshotId") DO UPDATE SET "templateId" = EXCLUDED."templateId", "resident" = EXCLUDED."resident",
      "warm" = EXCLUDED."warm", "frozen" = EXCLUDED."frozen", "privateBytes" = EXCLUDED."privateBytes", "pushed" = EXCLUDED."pushed", "seenAt" = EXCLUDED."seenAt"`;
  await tx.nodeSnapshot.deleteMany({
    where: { nodeId: beat.nodeId, snapshotId: { notIn: beat.snapshots.map((one) => one.snapshotId) }, seenAt: { lt: seenAt } },
  });
}
