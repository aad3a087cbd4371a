// SPDX-License-Identifier: Apache-2.0
import { type Json, number, record, text } from "./json.ts";

export interface UsageQuery {
  readonly from?: Date;
  readonly to?: Date;
  readonly signal?: AbortSignal;
}

/** What was used in a window of time. Only live time counts. */
export interface Usage {
  /** RFC 3339 */
  readonly from: string;
  readonly to: string;
  readonly sandboxes: number;
  readonly liveSeconds: number;
  readonly vcpuSeconds: number;
  readonly memoryGibSeconds: number;
  /** Millionths of the currency unit. */
  readonly costMicros: number;
  readonly raw: Json;
}

export function readUsage(reply: unknown): Usage {
  const json = record(reply);
  const totals = record(json["totals"]);
  return {
    from: text(json, "from"),
    to: text(json, "to"),
    sandboxes: number(totals, "sandboxes", 0),
    liveSeconds: number(totals, "live_seconds", 0),
    vcpuSeconds: number(totals, "vcpu_seconds", 0),
    memoryGibSeconds: number(totals, "memory_gib_seconds", 0),
    costMicros: number(totals, "cost_micros", 0),
    raw: json,
  };
}
