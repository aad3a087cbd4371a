// SPDX-License-Identifier: Apache-2.0
import { type Failure, resourcesSchema, templatePhaseSchema } from "@collimate/contracts";
import type { Template } from "@collimate/db";
import { fail, failure } from "../operation/end.ts";
import { discard, move, sandboxesOf } from "../sandbox/move.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./attempt.ts";
import { liveNodes, privateMib, takeRoom } from "./nodes.ts";
import { ENDED, NO_NODE, noRoom, NOT_READY, type Outcome } from "./outcome.ts";

/** Where the template's snapshot is, if it is anywhere; else on any live node. */
export async function placeCreate(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, operation } = attempt;
  const [sandbox] = await sandboxesOf(tx, operation.sandboxIds);
  if (sandbox?.state !== "requested") return refuse(attempt, failure("session_gone", "it was deleted before it was placed"));
  const template = await tx.template.findUnique({ where: { id: sandbox.templateId } });
  const obstacle = template ? obstacleIn(template) : failure("not_found", `no template ${sandbox.templateId}`);
  if (obstacle) return refuse(attempt, obstacle);
  if (!template?.snapshotId || template.phase !== "Live") return NOT_READY;

  const live = await liveNodes(attempt, template.snapshotId);
  if (live.length === 0) return NO_NODE;
  const holding = live.filter((node) => node.has);
  const { memory_mib } = resourcesSchema.parse(sandbox.resources);
  const need = { mib: await privateMib(tx, template.snapshotId, memory_mib, ctx.policy), slots: 1 };
  const choice = await takeRoom(attempt, holding.length > 0 ? holding : live, need);
  if (choice.kind === "full") return noRoom(choice.nodes);
  if (choice.kind === "too_large") return refuse(attempt, failure("does_not_fit", `a sandbox of template ${template.id} needs ${need.mib} MiB of its own, and no node is that large`));
  await move(tx, [sandbox.id], "place", { nodeId: choice.nodeId, reservedMib: need.mib });
  return assign(attempt, { nodeId: choice.nodeId, snapshotId: template.snapshotId });
}

function obstacleIn(template: Template): Failure | undefined {
  if (template.deletedAt) return failure("not_found", `template ${template.id} was deleted`);
  if (templatePhaseSchema.parse(template.phase) === "Failed") return failure("bake_failed", template.error || `template ${template.id} could not be baked`);
  return undefined;
}

async function refuse({ ctx, tx, effects, operation }: Attempt, reason: Failure): Promise<Outcome> {
  await discard(tx, operation.sandboxIds, ctx.now(), reason.message);
  await fail(ctx, tx, effects, operation, reason);
  return ENDED;
}
