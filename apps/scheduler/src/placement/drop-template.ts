// SPDX-License-Identifier: Apache-2.0
import { fail, failure, finish } from "../operation/end.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./held.ts";
import { nodesWithTemplate } from "./node-job.ts";
import { ENDED, type Outcome } from "./outcome.ts";

/** On every node that holds something of the template. */
export async function placeDrop(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, effects, operation } = attempt;
  const templateId = operation.templateId;
  if (templateId === null) {
    await fail(ctx, tx, effects, operation, failure("bad_request", "no template is named"));
    return ENDED;
  }
  await tx.snapshot.updateMany({ where: { templateId, deletedAt: null }, data: { deletedAt: ctx.now() } });
  const nodes = await nodesWithTemplate(tx, templateId);
  if (nodes.length === 0) {
    await finish(ctx, tx, effects, operation, { kind: "drop_template", templateId });
    return ENDED;
  }
  return assign(attempt, { nodeId: nodes.length === 1 ? (nodes[0] ?? null) : null });
}
