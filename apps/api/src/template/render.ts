// SPDX-License-Identifier: Apache-2.0
import { templatePhaseSchema } from "@collimate/contracts";
import type { TemplateStatus } from "@collimate/contracts";
import type { NodeSnapshot, Template } from "@collimate/db";
import { templateSpecSchema } from "./spec.ts";

/**
 * `converge_state`: forks come from a holder on demand and no pool is filled ahead, so a template is ready for any width
 * as soon as it is live with a snapshot.
 */
export function renderTemplate(row: Template, onNodes: readonly NodeSnapshot[]): TemplateStatus {
  const phase = templatePhaseSchema.parse(row.phase);
  const perNode = onNodes.map((n) => ({ node: n.nodeId, warm: n.warm, frozen: n.frozen }));
  return {
    id: row.id,
    name: row.name,
    image: row.image,
    visibility: row.visibility === "public" ? "public" : "private",
    phase,
    declared: row.declared,
    warm: perNode.reduce((sum, n) => sum + n.warm, 0),
    frozen: perNode.reduce((sum, n) => sum + n.frozen, 0),
    build_fails: row.buildFails,
    per_node: perNode,
    converge_state: phase === "Live" && row.snapshotId !== null ? "converged" : "converging",
    bake_mode: row.bakeMode,
    error: row.error,
    ...(row.errorCode ? { error_code: row.errorCode } : {}),
    created_at: row.createdAt.toISOString(),
    resources: templateSpecSchema.parse(row.spec).resources,
    ...(row.imageDigest ? { image_digest: row.imageDigest } : {}),
  };
}
