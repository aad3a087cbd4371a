// SPDX-License-Identifier: Apache-2.0
/** Templates change phase here and nowhere else: as compare-and-set, by the table of contracts. */
import { type Failure, sources, target, TEMPLATE_MACHINE, type TemplateEvent } from "@collimate/contracts";
import type { Prisma, Tx } from "@collimate/db";

export async function moveTemplate(
  tx: Tx,
  id: string,
  event: TemplateEvent,
  set: Prisma.TemplateUpdateManyMutationInput = {},
): Promise<boolean> {
  const { count } = await tx.template.updateMany({
    where: { id, phase: { in: sources(TEMPLATE_MACHINE, event) } },
    data: { ...set, phase: target(TEMPLATE_MACHINE, event), version: { increment: 1 } },
  });
  return count === 1;
}

/** With the words that its owner sees: what happened, then the last lines of the build. */
export function failTemplate(tx: Tx, id: string, reason: Failure): Promise<boolean> {
  const error = reason.detail ? `${reason.message}\n${reason.detail.slice(-6_000)}` : reason.message;
  return moveTemplate(tx, id, "fail", { error, errorCode: reason.code, buildFails: { increment: 1 } });
}
