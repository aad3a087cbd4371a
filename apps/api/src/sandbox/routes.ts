// SPDX-License-Identifier: Apache-2.0
import { createSandboxSchema, forkSandboxSchema } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import { holdRequest } from "../operation/hold-request.ts";
import { idempotencyOf } from "../operation/idempotency.ts";
import { parse } from "../server/parse.ts";
import type { Platform } from "../server/platform.ts";
import { callerOf } from "../server/route-context.ts";
import { connectUrl, connectUrlSchema } from "./connect-url.ts";
import type { SandboxService } from "./service.ts";

interface ById {
  Params: { id: string };
}

export function sandboxRoutes(app: FastifyInstance, platform: Platform, sandboxes: SandboxService): void {
  app.post("/v1/sandboxes", async (request, reply) => {
    const body = parse(createSandboxSchema, request.body);
    const idempotency = idempotencyOf(request.headers["idempotency-key"], "create", body);
    const created = await sandboxes.create(callerOf(request), body, idempotency, holdRequest(platform, reply));
    return reply.code(201).send(created);
  });
  app.get("/v1/sandboxes", async (request) => ({ sandboxes: await sandboxes.list(callerOf(request)) }));
  app.get<ById>("/v1/sandboxes/:id", (request) => sandboxes.get(callerOf(request), request.params.id));
  app.delete<ById>("/v1/sandboxes/:id", (request, reply) =>
    sandboxes.delete(callerOf(request), request.params.id, holdRequest(platform, reply)),
  );
  app.post<ById>("/v1/sandboxes/:id/fork", async (request, reply) => {
    const body = parse(forkSandboxSchema, request.body);
    const idempotency = idempotencyOf(request.headers["idempotency-key"], `fork ${request.params.id}`, body);
    const forked = await sandboxes.fork(callerOf(request), request.params.id, body, idempotency, holdRequest(platform, reply));
    return reply.code(201).send(forked);
  });
  app.post<ById>("/v1/sandboxes/:id/suspend", (request, reply) =>
    sandboxes.suspend(callerOf(request), request.params.id, holdRequest(platform, reply)),
  );
  app.post<ById>("/v1/sandboxes/:id/resume", (request, reply) =>
    sandboxes.resume(callerOf(request), request.params.id, holdRequest(platform, reply)),
  );
  app.post<ById>("/v1/sandboxes/:id/connect-url", (request) => {
    const { port } = parse(connectUrlSchema, request.body);
    return connectUrl(platform, callerOf(request), request.params.id, port);
  });
}
