// SPDX-License-Identifier: Apache-2.0
/** What nodes report becomes state. Every report may come twice, late, or for an operation that has ended: it then changes nothing. */
import type { NodeReport } from "@collimate/contracts";
import type { Context } from "../context.ts";
import { applyHeartbeat } from "../node/heartbeat.ts";
import { applyActivity } from "./activity.ts";
import { applyExited } from "./exited.ts";
import { applyFailed } from "./failed.ts";
import { applyFinished } from "./finished.ts";
import { applyPhase } from "./phase.ts";

/** `stale`: nothing was changed, because it was known already or came too late. */
export type Applied = "applied" | "stale";

export async function applyReport(ctx: Context, report: NodeReport): Promise<Applied> {
  const applied = await dispatch(ctx, report);
  ctx.metrics.reports.inc({ kind: report.kind, outcome: applied });
  if (applied === "stale")
    ctx.log.debug(
      { kind: report.kind, nodeId: report.nodeId, ...("operationId" in report ? { operationId: report.operationId } : {}) },
      "a report changed nothing",
    );
  return applied;
}

function dispatch(ctx: Context, report: NodeReport): Promise<Applied> {
  let applied: Promise<Applied>;
  switch (report.kind) {
    case "finished":
      applied = applyFinished(ctx, report);
      break;
    case "failed":
      applied = applyFailed(ctx, report);
      break;
    case "phase":
      applied = applyPhase(ctx, report);
      break;
    case "exited":
      applied = applyExited(ctx, report);
      break;
    case "activity":
      applied = applyActivity(ctx, report);
      break;
    case "heartbeat":
      applied = applyHeartbeat(ctx, report);
      break;
  }
  return applied;
}
