// SPDX-License-Identifier: Apache-2.0
/** delete and drop_template: each node tells its part; the operation ends with the last. */
import { closeMeters } from "../meter/meter.ts";
import { finish } from "../operation/end.ts";
import { settleDelete } from "../operation/settle-delete.ts";
import { nodesWithTemplate, strayRequestSchema } from "../placement/node-job.ts";
import { moveToDeleted, sandboxesOf } from "../sandbox/move.ts";
import type { Finishing } from "./finished.ts";

export async function deletedThere({ ctx, tx, effects, operation, nodeId, at, result }: Finishing<"delete">): Promise<void> {
  const told = new Map(result.ended.map((one) => [one.sandboxId, new Date(one.endedAt)]));
  const here = (await sandboxesOf(tx, operation.sandboxIds)).filter((row) => row.nodeId === nodeId);
  const endings = here.map((row) => ({ sandboxId: row.id, endedAt: told.get(row.id) ?? at }));
  const moved = new Set((await moveToDeleted(tx, endings)).map((row) => row.id));
  await closeMeters(
    tx,
    endings.filter((one) => moved.has(one.sandboxId)),
  );
  const counted = here.filter((row) => row.reservedMib === 0 && row.state === "deleting" && row.startedAt !== null);
  effects.room.push({ nodeId, slots: counted.length, at });
  if (strayRequestSchema.safeParse(operation.request).success) await finish(ctx, tx, effects, operation, result);
  else await settleDelete(ctx, tx, effects, operation);
}

export async function deletedTemplateThere({ ctx, tx, effects, operation, nodeId, result }: Finishing<"drop_template">): Promise<void> {
  await tx.nodeSnapshot.deleteMany({ where: { nodeId, templateId: result.templateId } });
  if ((await nodesWithTemplate(tx, result.templateId)).length === 0) await finish(ctx, tx, effects, operation, result);
}
