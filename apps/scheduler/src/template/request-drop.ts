// SPDX-License-Identifier: Apache-2.0
import { newId } from "@collimate/contracts";
import type { Tx } from "@collimate/db";
import type { Effects } from "../change.ts";

const DEADLINE_MS = 10 * 60_000;

/** Queues the removal of a template's snapshots from the nodes that hold them. */
export async function requestDrop(
  tx: Tx,
  effects: Effects,
  template: { readonly id: string; readonly tenantId: string },
  now: Date,
): Promise<void> {
  await tx.operation.create({
    data: {
      id: newId("operation"),
      tenantId: template.tenantId,
      kind: "drop_template",
      templateId: template.id,
      request: {},
      createdAt: now,
      deadlineAt: new Date(now.getTime() + DEADLINE_MS),
    },
  });
  effects.placement = true;
}
