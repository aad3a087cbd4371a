// SPDX-License-Identifier: Apache-2.0
import type { NodeReport } from "@collimate/contracts";
import { change } from "../change.ts";
import type { Context } from "../context.ts";
import { closeMeters } from "../meter/meter.ts";
import { cut, move } from "../sandbox/move.ts";
import type { Applied } from "./apply.ts";

/** A sandbox ended by itself. While one is still being made or resumed, its operation tells the end. */
export function applyExited(ctx: Context, report: Extract<NodeReport, { kind: "exited" }>): Promise<Applied> {
  return change(ctx, async (tx, effects) => {
    const at = new Date(report.at);
    const known = await tx.sandbox.findFirst({
      where: { id: report.sandboxId, nodeId: report.nodeId, state: { in: ["running", "suspending"] }, startedAt: { lte: at } },
    });
    if (!known) return "stale";
    const failed = await move(tx, [known.id], "fail", { error: cut(report.reason), endedAt: at, reservedMib: 0 });
    if (failed.length === 0) return "stale";
    await closeMeters(tx, [{ sandboxId: known.id, endedAt: at }]);
    effects.room.push({ nodeId: report.nodeId, slots: known.reservedMib > 0 ? 0 : 1, at });
    ctx.metrics.lostSandboxes.inc({ why: "exited" });
    ctx.log.warn({ sandboxId: known.id, nodeId: report.nodeId, reason: report.reason }, "a sandbox ended by itself");
    return "applied";
  });
}
