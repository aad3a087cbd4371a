// SPDX-License-Identifier: Apache-2.0
import { egressSchema, execRequestSchema, oneShotSchema } from "@collimate/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { holdRequest } from "../operation/hold-request.ts";
import { longReply } from "../server/long-reply.ts";
import { parse } from "../server/parse.ts";
import type { Platform } from "../server/platform.ts";
import { callerOf } from "../server/route-context.ts";
import type { ExecService } from "./service.ts";

interface ById {
  Params: { id: string };
}

const onceSchema = oneShotSchema.extend({ egress: egressSchema.optional() });
const requestSchema = z.looseObject({});

export function execRoutes(app: FastifyInstance, platform: Platform, execs: ExecService): void {
  const patience = { earlyMs: platform.config.earlyReplyMs, blankMs: platform.config.blankMs, stopping: platform.stopping };
  const exec = async (request: FastifyRequest<ById>, reply: FastifyReply) => {
    const body = parse(execRequestSchema, request.body);
    const work = execs.exec(callerOf(request), request.params.id, request.id, body, holdRequest(platform, reply));
    return longReply(reply, work, patience);
  };
  app.post<ById>("/v1/sandboxes/:id/exec", exec);
  app.post<ById>("/v1/sessions/:id/exec", exec);
  app.post("/v1/exec", async (request, reply) => {
    const { template_id, egress } = parse(onceSchema, requestSchema.parse(request.body ?? {}));
    const body = parse(execRequestSchema, request.body);
    const work = execs.once(callerOf(request), { template: template_id, egress }, request.id, body, holdRequest(platform, reply));
    return longReply(reply, work, patience);
  });
}
