// SPDX-License-Identifier: Apache-2.0
/** The routes of a node's own surface (wire contract, section 7). */
import { createSessionSchema, egressSchema, execRequestSchema, oneShotSchema } from "@collimate/contracts";
import type { FastifyInstance, FastifyReply } from "fastify";
import { readBody } from "./body.ts";
import type { Execs } from "./execs.ts";
import { longReply, type Patience } from "./long-reply.ts";
import { sessionInfo, type Sessions } from "./sessions.ts";

const onceSchema = oneShotSchema.extend({ egress: egressSchema.optional() });

interface ById {
  Params: { id: string };
}

export interface DaemonParts {
  readonly sessions: Sessions;
  readonly execs: Execs;
  /** Ids of the templates that can be restored here. */
  readonly templates: () => string[];
  readonly version: string;
  readonly patience: Patience;
  readonly stopping: AbortSignal;
}

export function daemonRoutes(server: FastifyInstance, parts: DaemonParts): void {
  const { sessions, execs } = parts;
  server.get("/v1/health", () => health(parts));
  server.get("/v1/sessions", () => sessions.all().map((sandbox) => sessionInfo(sandbox)));
  server.post("/v1/sessions", async (request, reply) => {
    const begun = performance.now();
    const { template_id, egress } = readBody(createSessionSchema, request.body);
    const gone = whenGone(reply);
    const { sandbox, forkTimeMs } = await sessions.open(template_id, egress ?? null);
    // Nobody was told its id, so nobody could ever end it.
    if (gone.aborted) await sessions.close(sandbox.id);
    return reply.code(201).send({ ...sessionInfo(sandbox), fork_time_ms: forkTimeMs, create_time_ms: performance.now() - begun });
  });
  server.get<ById>("/v1/sessions/:id", (request) => sessionInfo(sessions.find(request.params.id)));
  server.delete<ById>("/v1/sessions/:id", async (request) => ({
    deleted: await sessions.close(request.params.id),
    session_id: request.params.id,
  }));
  server.post<ById>("/v1/sessions/:id/exec", (request, reply) => {
    const body = readBody(execRequestSchema, request.body);
    return longReply(reply, execs.exec(request.params.id, request.id, body), parts.patience);
  });
  server.post("/v1/exec", (request, reply) => {
    const { template_id, egress } = readBody(onceSchema, request.body);
    const body = readBody(execRequestSchema, request.body);
    return longReply(
      reply,
      execs.once({ template: template_id, egress: egress ?? null }, request.id, body, whenGone(reply)),
      parts.patience,
    );
  });
}

function health({ sessions, execs, templates, version, stopping }: DaemonParts) {
  return {
    status: stopping.aborted ? "draining" : "ok",
    sessions: sessions.all().length,
    running: execs.running,
    max_inflight: execs.maxInflight,
    queued: execs.queued,
    templates: templates(),
    version,
  };
}

/** Aborted when the connection closes before the reply was handed to it whole. */
function whenGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort(new Error("the caller closed the connection"));
  });
  return gone.signal;
}
