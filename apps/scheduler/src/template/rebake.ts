// SPDX-License-Identifier: Apache-2.0
/** A template whose snapshot is of no use any more is baked again by itself; what asked for it waits for that. */
import { newId, templatePhaseSchema } from "@collimate/contracts";
import type { Tx } from "@collimate/db";
import type { Effects } from "../change.ts";
import { moveTemplate } from "./phase.ts";

const DEADLINE_MS = 30 * 60_000;

export interface Useless {
  readonly templateId: string;
  readonly snapshotId: string;
  /** The node that could not restore it. */
  readonly nodeId: string;
}

/** False when the template is gone or failed: then nothing is to be waited for. */
export async function rebake(tx: Tx, effects: Effects, { templateId, snapshotId, nodeId }: Useless, now: Date): Promise<boolean> {
  await tx.nodeSnapshot.deleteMany({ where: { nodeId, snapshotId } });
  const template = await tx.template.findUnique({ where: { id: templateId } });
  if (!template || template.deletedAt || templatePhaseSchema.parse(template.phase) === "Failed") return false;
  // Baked again since, or about to be.
  if (template.snapshotId !== snapshotId) return true;
  // Another node has one that it can use.
  const elsewhere = await tx.$queryRaw<{ nodeId: string }[]>`
    SELECT s."nodeId" FROM "node_snapshots" s JOIN "nodes" n ON n."id" = s."nodeId" WHERE s."snapshotId" = ${snapshotId} AND n."state" = 'live' LIMIT 1`;
  if (elsewhere.length > 0) return true;
  if (!(await moveTemplate(tx, templateId, "rebake", { snapshotId: null }))) return false;
  await tx.operation.create({
    data: {
      id: newId("operation"),
      tenantId: template.tenantId,
      kind: "bake",
      templateId,
      request: { width: template.declared },
      createdAt: now,
      deadlineAt: new Date(now.getTime() + DEADLINE_MS),
    },
  });
  effects.placement = true;
  return true;
}
