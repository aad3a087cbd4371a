// SPDX-License-Identifier: Apache-2.0
import { newId } from "@collimate/contracts";
import { fail, failure } from "../operation/end.ts";
import { failTemplate } from "../template/phase.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./held.ts";
import { liveNodes, takeRoom } from "./nodes.ts";
import { ENDED, NO_NODE, noRoom, type Outcome } from "./outcome.ts";

/** On any live node, that with most room first. The snapshot gets its id here. */
export async function placeBake(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, effects, operation } = attempt;
  const template = operation.templateId === null ? null : await tx.template.findUnique({ where: { id: operation.templateId } });
  if (!template || template.deletedAt) {
    await fail(ctx, tx, effects, operation, failure("not_found", `template ${operation.templateId ?? "(none)"} was deleted`));
    return ENDED;
  }
  const candidates = await liveNodes(attempt);
  if (candidates.length === 0) return NO_NODE;
  const need = { mib: ctx.policy.bakeMib, slots: 1 };
  const choice = await takeRoom(attempt, candidates, need);
  if (choice.kind === "full") return noRoom(choice.nodes, need);
  if (choice.kind === "too_large") {
    const reason = failure("does_not_fit", `a bake needs ${need.mib} MiB, and no node is that large`);
    await failTemplate(tx, template.id, reason);
    await fail(ctx, tx, effects, operation, reason);
    return ENDED;
  }
  const snapshotId = newId("snapshot");
  await tx.snapshot.create({
    data: { id: snapshotId, tenantId: template.tenantId, templateId: template.id, kind: "template", createdAt: ctx.now() },
  });
  return assign(attempt, { nodeId: choice.nodeId, snapshotId });
}
