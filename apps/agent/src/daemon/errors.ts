// SPDX-License-Identifier: Apache-2.0
/** Errors as every published client reads them (wire contract, section 3), the framework's own ones too. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { CollimateError, errorBody, ERRORS, newId } from "@collimate/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { asCollimateError } from "../server/errors.ts";

const RETRY_AFTER_S = 1;

/** Where a template was asked for, this surface's word for not_found is no_template. */
export class NoTemplate extends CollimateError {
  constructor(reference: string) {
    super("not_found", `this node has no template or snapshot ${reference.slice(0, 200)}`);
  }
}

/** Nothing is made or run any more. Clients repeat even a POST on this code. */
export const draining = (): CollimateError => new CollimateError("draining", "this node is stopping; nothing was made or run");

export function tellErrors(server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  server.setNotFoundHandler((request, reply) =>
    sendError(new CollimateError("not_found", `no route ${request.method} ${request.url.split("?")[0]?.slice(0, 200)}`), request, reply),
  );
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const told = asCollimateError(error);
  request.log[told.status >= 500 ? "warn" : "debug"]({ err: error, code: told.code }, "request refused or failed");
  if (ERRORS[told.code].retryable) void reply.header("retry-after", RETRY_AFTER_S);
  return reply.code(told.status).send(bodyOf(told, request.id));
}

/** What is no HTTP gets an answer of the same shape. */
export function answerRaw(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const told = new CollimateError(
    "bad_request",
    error.code === "HPE_HEADER_OVERFLOW" ? "the headers are too large" : "this is not HTTP/1.1 that the agent can read",
  );
  const body = JSON.stringify(bodyOf(told, newId("request")));
  const head = [
    `HTTP/1.1 ${told.status} ${STATUS_CODES[told.status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function bodyOf(error: CollimateError, requestId: string) {
  const body = errorBody(error, requestId, "daemon");
  return error instanceof NoTemplate ? { ...body, error_code: "no_template" } : body;
}
