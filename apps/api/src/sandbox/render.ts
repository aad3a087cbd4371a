// SPDX-License-Identifier: Apache-2.0
/** Rows as clients see them. No field is null: published clients fail on null (wire contract, section 9). */
import { endpointsSchema, labelsSchema, resourcesSchema, sandboxStateSchema } from "@collimate/contracts";
import type { SandboxRow, SessionInfo } from "@collimate/contracts";
import type { Sandbox } from "@collimate/db";

function secondsSince(then: Date, now: number): number {
  return Math.max(0, (now - then.getTime()) / 1_000);
}

export function renderSandbox(row: Sandbox, now: number = Date.now()): SandboxRow {
  return {
    id: row.id,
    session_id: row.id,
    template: row.templateId,
    template_id: row.templateId,
    state: sandboxStateSchema.parse(row.state),
    label: row.label,
    labels: labelsSchema.parse(row.labels),
    parent_id: row.parentId ?? "",
    group_id: row.groupId ?? "",
    endpoints: endpointsSchema.parse(row.endpoints),
    resources: resourcesSchema.parse(row.resources),
    created_at: row.createdAt.toISOString(),
    age_secs: secondsSince(row.createdAt, now),
    idle_secs: secondsSince(row.lastActiveAt, now),
    exec_count: row.execCount,
    error: row.error,
  };
}

export function renderSession(row: Sandbox, now: number = Date.now()): SessionInfo {
  return {
    session_id: row.id,
    template_id: row.templateId,
    age_secs: secondsSince(row.createdAt, now),
    idle_secs: secondsSince(row.lastActiveAt, now),
    exec_count: row.execCount,
    endpoints: endpointsSchema.parse(row.endpoints),
  };
}
