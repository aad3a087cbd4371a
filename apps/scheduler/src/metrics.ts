// SPDX-License-Identifier: Apache-2.0
import { Counter, createRegistry, Gauge, Histogram, type Registry, SECONDS_BUCKETS } from "@collimate/telemetry";

export interface Metrics {
  readonly registry: Registry;
  readonly placed: Counter<"kind">;
  readonly placementWait: Histogram<"kind">;
  readonly waiting: Gauge<"why">;
  readonly ended: Counter<"kind" | "state">;
  readonly reports: Counter<"kind" | "outcome">;
  readonly lostSandboxes: Counter<"why">;
  readonly reaped: Counter<"why">;
  readonly resent: Counter;
  readonly deadLetters: Counter<"queue">;
  readonly sweepSeconds: Histogram<"sweep">;
}

export function createMetrics(): Metrics {
  const registry = createRegistry("scheduler");
  const registers = [registry];
  return {
    registry,
    placed: new Counter({ registers, name: "collimate_operations_placed_total", help: "Operations given to a node", labelNames: ["kind"] }),
    placementWait: new Histogram({
      registers,
      name: "collimate_placement_wait_seconds",
      help: "From the request to the node that does it",
      labelNames: ["kind"],
      buckets: SECONDS_BUCKETS,
    }),
    waiting: new Gauge({
      registers,
      name: "collimate_operations_waiting",
      help: "Operations that found no place in the last pass",
      labelNames: ["why"],
    }),
    ended: new Counter({ registers, name: "collimate_operations_ended_total", help: "Operations ended", labelNames: ["kind", "state"] }),
    reports: new Counter({ registers, name: "collimate_node_reports_total", help: "Reports of nodes", labelNames: ["kind", "outcome"] }),
    lostSandboxes: new Counter({
      registers,
      name: "collimate_sandboxes_lost_total",
      help: "Sandboxes that ended without being asked to",
      labelNames: ["why"],
    }),
    reaped: new Counter({ registers, name: "collimate_reaped_total", help: "What the reaper ended", labelNames: ["why"] }),
    resent: new Counter({
      registers,
      name: "collimate_node_jobs_resent_total",
      help: "Jobs that were missing from Redis and were sent again",
    }),
    deadLetters: new Counter({ registers, name: "collimate_dead_letters_total", help: "Jobs given up", labelNames: ["queue"] }),
    sweepSeconds: new Histogram({
      registers,
      name: "collimate_sweep_seconds",
      help: "Duration of a sweep",
      labelNames: ["sweep"],
      buckets: SECONDS_BUCKETS,
    }),
  };
}
