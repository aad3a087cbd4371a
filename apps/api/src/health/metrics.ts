// SPDX-License-Identifier: Apache-2.0
import { createRegistry, Gauge, Histogram, SECONDS_BUCKETS } from "@collimate/telemetry";
import type { Registry } from "@collimate/telemetry";
import type { FastifyInstance } from "fastify";

/** Counts every reply by route (never by URL: ids would make a series each). */
export function registerMetrics(app: FastifyInstance, outputHeld: () => number): Registry {
  const registry = createRegistry("api");
  const seconds = new Histogram({
    name: "collimate_http_seconds",
    help: "Time from request to reply",
    labelNames: ["method", "route", "status"],
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  });
  const open = new Gauge({ name: "collimate_http_open", help: "Requests being answered", registers: [registry] });
  const held: Gauge = new Gauge({
    name: "collimate_exec_output_bytes",
    help: "Output of running execs held in memory",
    registers: [registry],
    collect: () => held.set(outputHeld()),
  });
  app.addHook("onRequest", async (_request, reply) => {
    open.inc();
    // Ends once for each reply, answered or broken off.
    reply.raw.once("close", () => open.dec());
  });
  app.addHook("onResponse", async (request, reply) => {
    seconds.observe(
      { method: request.method, route: request.routeOptions.url ?? "none", status: String(reply.raw.statusCode) },
      reply.elapsedTime / 1_000,
    );
  });
  return registry;
}
