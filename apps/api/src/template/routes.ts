// SPDX-License-Identifier: Apache-2.0
import { createTemplateSchema, expectSchema } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import { parse } from "../server/parse.ts";
import { callerOf } from "../server/route-context.ts";
import type { TemplateService } from "./service.ts";

interface ById {
  Params: { id: string };
}

export function templateRoutes(app: FastifyInstance, templates: TemplateService): void {
  app.post("/v1/templates", async (request, reply) => {
    const body = parse(createTemplateSchema, request.body);
    return reply.code(201).send(await templates.create(callerOf(request), body));
  });
  app.get("/v1/templates", async (request) => ({ templates: await templates.list(callerOf(request)) }));
  app.get<ById>("/v1/templates/:id", (request) => templates.get(callerOf(request), request.params.id));
  app.delete<ById>("/v1/templates/:id", (request) => templates.delete(callerOf(request), request.params.id));
  app.post<ById>("/v1/templates/:id/expect", (request) => {
    const { width } = parse(expectSchema, request.body);
    return templates.expect(callerOf(request), request.params.id, width);
  });
  app.post<ById>("/v1/templates/:id/release", (request) => templates.release(callerOf(request), request.params.id));
}
