// SPDX-License-Identifier: Apache-2.0
/** HTTP for the node's own surface: who can reach its socket may use it; there are no keys. */
import { BODY_MAX, newId } from "@collimate/contracts";
import type { Logger } from "@collimate/telemetry";
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { takeJson } from "./body.ts";
import { answerRaw, sendError, tellErrors } from "./errors.ts";
import { type DaemonParts, daemonRoutes } from "./routes.ts";

/** A trainer's connections idle between steps for minutes, and clients do not repeat a POST (wire contract, section 1). */
const KEEP_ALIVE_MS = 2 * 3_600_000;
/** For a whole request to arrive. */
const RECEIVE_MS = 300_000;
const HEADERS_MS = 30_000;

/** `GET http://localhost/v1/health`: what a client behind http_proxy sends, over the unix socket too (wire contract, section 1). */
export function originForm(target: string): string {
  const path = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)?.[1];
  if (path === undefined) return target;
  return path.startsWith("/") ? path : `/${path}`;
}

export function buildDaemon(parts: DaemonParts, log: Logger): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = log.child({ part: "daemon" });
  const server = Fastify({
    loggerInstance,
    disableRequestLogging: true,
    genReqId: () => newId("request"),
    bodyLimit: BODY_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: RECEIVE_MS,
    routerOptions: { maxParamLength: 1_024, ignoreTrailingSlash: true },
    http: { headersTimeout: HEADERS_MS },
    // While it stops, requests get this surface's own `draining`.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    rewriteUrl: (request) => originForm(request.url ?? "/"),
    clientErrorHandler: answerRaw,
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
  });
  takeJson(server);
  tellErrors(server);
  server.addHook("onRequest", async (_request, reply) => {
    if (parts.stopping.aborted) void reply.header("connection", "close");
  });
  daemonRoutes(server, parts);
  return server;
}
