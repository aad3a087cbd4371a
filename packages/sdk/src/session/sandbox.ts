// SPDX-License-Identifier: Apache-2.0
import { type Json, number, record, stringMap, text, word } from "../json.ts";
import { readResources } from "../resources.ts";
import type { Resources, SandboxState } from "../wire.generated.ts";

/** A sandbox as the server lists it. */
export interface SandboxInfo {
  readonly id: string;
  readonly templateId: string;
  readonly state: SandboxState;
  readonly label: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The sandbox it was forked from, and the group it was born in; empty for a fresh one. */
  readonly parentId: string;
  readonly groupId: string;
  /** By declared port: where it is reached. */
  readonly endpoints: Readonly<Record<string, string>>;
  /** Its limits, `memory_mib` and `disk_mib` in MiB. */
  readonly resources: Resources;
  /** RFC 3339 */
  readonly createdAt: string;
  readonly ageSeconds: number;
  readonly idleSeconds: number;
  readonly execCount: number;
  /** Why it failed, if it did. */
  readonly error: string;
  readonly raw: Json;
}

const STATES = [
  "requested",
  "placing",
  "starting",
  "running",
  "suspending",
  "suspended",
  "resuming",
  "deleting",
  "deleted",
  "failed",
] as const satisfies readonly SandboxState[];

export function readSandbox(reply: unknown): SandboxInfo {
  const json = record(reply);
  return {
    id: text(json, "id"),
    templateId: text(json, "template_id", text(json, "template")),
    state: word(json, "state", STATES, "running"),
    label: text(json, "label"),
    labels: stringMap(json["labels"]),
    parentId: text(json, "parent_id"),
    groupId: text(json, "group_id"),
    endpoints: stringMap(json["endpoints"]),
    resources: readResources(json["resources"]),
    createdAt: text(json, "created_at"),
    ageSeconds: number(json, "age_secs", 0),
    idleSeconds: number(json, "idle_secs", 0),
    execCount: number(json, "exec_count", 0),
    error: text(json, "error"),
    raw: json,
  };
}
