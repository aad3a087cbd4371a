// SPDX-License-Identifier: Apache-2.0
import type { Registry } from "@collimate/telemetry";
import { TIER_LIMITS } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import type { Authenticator } from "../tenant/authenticate.ts";
import type { HealthService } from "./service.ts";

export function healthRoutes(app: FastifyInstance, health: HealthService, authenticator: Authenticator, registry: Registry): void {
  /** Without a key: whether it runs. With one: the tenant's figures; a bad key is told, since clients test their key here. */
  app.get("/v1/health", async (request) => {
    if (request.headers.authorization === undefined) return health.health();
    const caller = await authenticator.require(request.headers.authorization);
    return health.ofTenant(caller, TIER_LIMITS[caller.tier].liveSandboxes);
  });
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const missing = await health.missing();
    return reply.code(missing.length === 0 ? 200 : 503).send({ status: missing.length === 0 ? "ready" : "not ready", missing });
  });
  app.get("/metrics", async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}
