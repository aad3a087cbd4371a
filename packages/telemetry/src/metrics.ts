// SPDX-License-Identifier: Apache-2.0
/** Prometheus metrics: one registry per process, with Node's own figures in it. */
import { collectDefaultMetrics, Registry } from "prom-client";

export { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Bounds in seconds for what should take milliseconds and may take minutes. */
export const SECONDS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}
