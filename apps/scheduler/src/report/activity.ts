// SPDX-License-Identifier: Apache-2.0
import type { NodeReport } from "@collimate/contracts";
import type { Context } from "../context.ts";
import type { Applied } from "./apply.ts";

/** Execs since the node's last report of them. Only later ones count, so that the same report twice counts once. */
export async function applyActivity(ctx: Context, report: Extract<NodeReport, { kind: "activity" }>): Promise<Applied> {
  if (report.execs.length === 0) return "stale";
  const execs = JSON.stringify(
    report.execs.map((one) => ({ id: one.sandboxId, count: Math.max(0, one.count), at: new Date(one.lastAt).toISOString() })),
  );
  const changed = await ctx.db.client.$executeRaw`
    UPDATE "sandboxes" s SET "execCount" = s."execCount" + e.count, "lastActiveAt" = e.at
    FROM (
      SELECT l."id", e.count, e.at FROM jsonb_to_recordset(${execs}::jsonb) AS e(id TEXT, count INTEGER, at TIMESTAMPTZ)
      JOIN "sandboxes" l ON l."id" = e.id AND l."nodeId" = ${report.nodeId}
      ORDER BY l."id" FOR UPDATE OF l -- in this order everywhere: a heartbeat changes the same rows
    ) e
    WHERE s."id" = e."id" AND s."lastActiveAt" < e.at`;
  return changed > 0 ? "applied" : "stale";
}
