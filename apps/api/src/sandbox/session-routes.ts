// SPDX-License-Identifier: Apache-2.0
/** The daemon's vocabulary on the gateway's origin (wire contract, section 7): same sandboxes, other words. */
import { createSessionSchema } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import { holdRequest } from "../operation/hold-request.ts";
import { idempotencyOf } from "../operation/idempotency.ts";
import { parse } from "../server/parse.ts";
import type { Platform } from "../server/platform.ts";
import { callerOf } from "../server/route-context.ts";
import type { SandboxService } from "./service.ts";

interface ById {
  Params: { id: string };
}

export function sessionRoutes(app: FastifyInstance, platform: Platform, sandboxes: SandboxService): void {
  app.post("/v1/sessions", async (request, reply) => {
    const { template_id, egress } = parse(createSessionSchema, request.body);
    const body = { template: template_id, ...(egress ? { egress } : {}) };
    const idempotency = idempotencyOf(request.headers["idempotency-key"], "create", body);
    const created = await sandboxes.createSession(callerOf(request), body, idempotency, holdRequest(platform, reply));
    return reply.code(201).send(created);
  });
  app.get("/v1/sessions", (request) => sandboxes.listSessions(callerOf(request)));
  app.get<ById>("/v1/sessions/:id", (request) => sandboxes.getSession(callerOf(request), request.params.id));
  app.delete<ById>("/v1/sessions/:id", async (request, reply) => {
    const { deleted, id } = await sandboxes.delete(callerOf(request), request.params.id, holdRequest(platform, reply));
    return { deleted, session_id: id };
  });
}
