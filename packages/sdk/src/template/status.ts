// SPDX-License-Identifier: Apache-2.0
import { type Json, number, record, records, text, word } from "../json.ts";
import { readResources } from "../resources.ts";
import type { PerNode, Resources, TemplatePhase } from "../wire.generated.ts";

/** How far a template is. */
export interface TemplateStatus {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly visibility: "public" | "private";
  /** Pending, Converting, Distributing, Live; Failed is final until the same bake is asked for again. */
  readonly phase: TemplatePhase;
  /** Width asked for. */
  readonly declared: number;
  /** Prepared places, ready and frozen. */
  readonly warm: number;
  readonly frozen: number;
  /** Consecutive failed builds. */
  readonly buildFails: number;
  readonly perNode: readonly PerNode[];
  /** `converged`: sandboxes can be made from it. */
  readonly convergeState: "converging" | "converged";
  readonly bakeMode: string;
  /** The last build error, with the last lines of what failed. */
  readonly error: string;
  readonly errorCode: string;
  /** RFC 3339 */
  readonly createdAt: string;
  /** Limits of each sandbox, `memory_mib` and `disk_mib` in MiB. */
  readonly resources: Resources;
  readonly imageDigest: string;
  /** The reply as it came. */
  readonly raw: Json;
}

const PHASES = ["Pending", "Converting", "Distributing", "Live", "Failed"] as const satisfies readonly TemplatePhase[];

export function readTemplateStatus(reply: unknown): TemplateStatus {
  const json = record(reply);
  return {
    id: text(json, "id"),
    name: text(json, "name"),
    image: text(json, "image"),
    visibility: word(json, "visibility", ["public", "private"], "private"),
    phase: word(json, "phase", PHASES, "Pending"),
    declared: number(json, "declared", 0),
    warm: number(json, "warm", 0),
    frozen: number(json, "frozen", 0),
    buildFails: number(json, "build_fails", 0),
    perNode: records(json["per_node"]).map((node) => ({
      node: text(node, "node"),
      warm: number(node, "warm", 0),
      frozen: number(node, "frozen", 0),
    })),
    convergeState: word(json, "converge_state", ["converging", "converged"], "converging"),
    bakeMode: text(json, "bake_mode"),
    error: text(json, "error"),
    errorCode: text(json, "error_code"),
    createdAt: text(json, "created_at"),
    resources: readResources(json["resources"]),
    imageDigest: text(json, "image_digest"),
    raw: json,
  };
}
