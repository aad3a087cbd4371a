// SPDX-License-Identifier: Apache-2.0
import type { NodeReport } from "@collimate/contracts";
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import { lockOperation } from "../operation/lock.ts";
import { moveTemplate } from "../template/phase.ts";
import type { Applied } from "./apply.ts";
import { isHis } from "./finished.ts";

const EVENT = { Converting: "convert", Distributing: "distribute" } as const;

/** How far a bake has come. Phases only go forward. */
export function applyPhase(ctx: Context, report: Extract<NodeReport, { kind: "phase" }>): Promise<Applied> {
  return change(ctx, async (tx) => {
    const operation = await lockOperation(tx, report.operationId);
    if (operation?.state !== "assigned" || operation.templateId !== report.templateId || !isHis(operation, report.nodeId)) return "stale";
    return (await moveTemplate(tx, report.templateId, EVENT[report.phase])) ? "applied" : "stale";
  });
}
