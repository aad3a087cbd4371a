// SPDX-License-Identifier: Apache-2.0
import { fail, failure, finish } from "../operation/end.ts";
import { moveTemplate } from "../template/phase.ts";
import { requestDrop } from "../template/request-drop.ts";
import type { Finishing } from "./finished.ts";

export async function baked({ ctx, tx, effects, operation, nodeId, at, result }: Finishing<"bake">): Promise<void> {
  const template = operation.templateId === null ? null : await tx.template.findUnique({ where: { id: operation.templateId } });
  if (!template || operation.snapshotId !== result.snapshotId) {
    await fail(ctx, tx, effects, operation, failure("bake_failed", `the node baked snapshot ${result.snapshotId}, which nobody asked for`));
    return;
  }
  await tx.snapshot.update({
    where: { id: result.snapshotId },
    data: { sizeBytes: bytes(result.sizeBytes), privateBytes: bytes(result.privateBytes) },
  });
  // Heartbeats keep this row; until the next one, creates find the node by it.
  const holding = { templateId: template.id, resident: true, warm: 0, frozen: 0, privateBytes: bytes(result.privateBytes), seenAt: at };
  await tx.nodeSnapshot.upsert({
    where: { nodeId_snapshotId: { nodeId, snapshotId: result.snapshotId } },
    create: { nodeId, snapshotId: result.snapshotId, ...holding },
    update: {},
  });
  const live = await moveTemplate(tx, template.id, "live", {
    snapshotId: result.snapshotId,
    imageDigest: result.imageDigest,
    bakeMode: result.bakeMode,
    error: "",
    errorCode: null,
    buildFails: 0,
  });
  effects.room.push({ nodeId, slots: 0, at });
  if (!live || template.deletedAt) await requestDrop(tx, effects, template, ctx.now());
  if (live) await finish(ctx, tx, effects, operation, result);
  else await fail(ctx, tx, effects, operation, failure("conflict", `template ${template.id} was ${template.phase} when its bake ended`));
}

function bytes(size: number): bigint {
  return BigInt(Math.max(0, Math.round(size)));
}
