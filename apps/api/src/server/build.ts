// SPDX-License-Identifier: Apache-2.0
/** The HTTP server without its routes: limits, request ids, error shape, what happens while it stops. */
import { BODY_MAX, CollimateError, errorBody, FILE_TOTAL_MAX_MS, idSchema, newId } from "@collimate/contracts";
import Fastify, { LogController } from "fastify";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { STATUS_CODES } from "node:http";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { registerBodies } from "./body.ts";
import { registerErrors, sendError } from "./errors.ts";
import { limitReceiving } from "./receive-limit.ts";

/** A trainer's connections idle between steps for minutes, and its client does not resend a POST: outlive that (wire contract, section 1). */
const KEEP_ALIVE_MS = 2 * 3_600_000;
/** For a whole request to arrive, a file excepted. Large bodies over slow links take a while; nobody gets to hold a half-sent one for ever. */
const RECEIVE_MS = 300_000;
const HEADERS_MS = 30_000;

/** `GET http://localhost/v1/health`: what a client behind http_proxy sends (wire contract, section 1). */
export function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const path = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1];
  if (path === undefined) return url;
  return path.startsWith("/") ? path : `/${path}`;
}

/** The caller's own request id where it is one that we could have issued, so that its log and ours meet. */
function requestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && idSchema.safeParse(given).success ? given : newId("request");
}

/** What is not HTTP gets an answer in the catalogue's shape all the same. */
function answerRaw(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const told =
    error.code === "HPE_HEADER_OVERFLOW"
      ? new CollimateError("bad_request", "the request's headers are too large")
      : new CollimateError("bad_request", "the request is not HTTP/1.1 that this server can read");
  const body = JSON.stringify(errorBody(told, newId("request")));
  socket.end(
    `HTTP/1.1 ${told.status} ${STATUS_CODES[told.status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

export interface ServerState {
  /** Aborted when the server begins to stop: held requests end, replies close their connections. */
  readonly stopping: AbortSignal;
}

export function buildServer(log: FastifyBaseLogger, state: ServerState): FastifyInstance {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    requestIdHeader: false,
    bodyLimit: BODY_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: FILE_TOTAL_MAX_MS,
    routerOptions: { maxParamLength: 1_024, ignoreTrailingSlash: true },
    http: { headersTimeout: HEADERS_MS, maxHeaderSize: 64 * 1024 },
    return503OnClosing: false,
    forceCloseConnections: "idle",
    rewriteUrl: (request) => originForm(request.url ?? "/"),
    clientErrorHandler: answerRaw,
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
  });
  registerBodies(app);
  registerErrors(app);
  limitReceiving(app, RECEIVE_MS);
  app.addHook("onRequest", async (request, reply) => {
    void reply.header("x-request-id", request.id);
  });
  app.addHook("onSend", async (_request, reply) => {
    if (state.stopping.aborted) void reply.header("connection", "close");
  });
  app.addHook("onResponse", async (request, reply) => {
    request.log.info(
      { method: request.method, route: request.routeOptions.url, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 },
      "answered",
    );
  });
  return app;
}
