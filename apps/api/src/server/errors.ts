// SPDX-License-Identifier: Apache-2.0
/** Every error that leaves the server has the catalogue's shape, the framework's own ones too. */
import { CollimateError, errorBody, ERRORS } from "@collimate/contracts";
import type { ErrorCode } from "@collimate/contracts";
import { FileFault } from "../files/file-fault.ts";
import { CallerGone } from "./caller-gone.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Seconds to wait that a retryable error tells. */
const RETRY_AFTER_S = 1;

/** The framework's status without a code of ours. */
const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  413: "payload_too_large",
  414: "bad_request",
  415: "unsupported_media_type",
  431: "bad_request",
};

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("statusCode" in error)) return undefined;
  return typeof error.statusCode === "number" ? error.statusCode : undefined;
}

/** What the client is told. An error that is not of the catalogue says nothing of its inside. */
export function toCollimateError(error: unknown): CollimateError {
  if (error instanceof CollimateError) return error;
  const code = BY_STATUS[statusOf(error) ?? 500];
  if (code && error instanceof Error) return new CollimateError(code, error.message, { cause: error });
  return new CollimateError("internal", "the server failed; the request id finds the reason in its log", { cause: error });
}

/** The daemon's vocabulary, spoken on the same origin (wire contract, section 7). */
export function surfaceOf(url: string): "gateway" | "daemon" {
  return /^\/v1\/(sessions|exec)(\/|\?|$)/.test(url) ? "daemon" : "gateway";
}

/** `not_found` is `no_template` on the daemon surface where a template was asked for. */
export class TemplateNotFound extends CollimateError {
  constructor(reference: string) {
    super("not_found", `no template ${reference}`);
  }
}

/** What proxies log for a caller that left; nobody reads it. */
const CLIENT_CLOSED_REQUEST = 499;

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof CallerGone) {
    request.log.info("the caller left");
    return reply.code(CLIENT_CLOSED_REQUEST).send();
  }
  const told = toCollimateError(error);
  const log = told.status >= 500 ? "error" : "info";
  request.log[log]({ err: told, code: told.code, detail: told.detail }, "request failed");
  if (ERRORS[told.code].retryable) void reply.header("retry-after", RETRY_AFTER_S);
  if (told.status === 401) void reply.header("www-authenticate", "Bearer");
  const surface = surfaceOf(request.url);
  const body = errorBody(told, request.id, surface);
  if (surface === "daemon" && told instanceof TemplateNotFound) body.error_code = "no_template";
  const ofFile = told instanceof FileFault ? { path: told.path, error_code: told.code } : {};
  return reply
    .code(told.status)
    .type("application/json; charset=utf-8")
    .send({ ...body, ...ofFile });
}

export function registerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendError(new CollimateError("not_found", `no route ${request.method} ${request.url.split("?")[0]}`), request, reply),
  );
}
