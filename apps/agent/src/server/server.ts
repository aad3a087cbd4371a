// SPDX-License-Identifier: Apache-2.0
/** The agent's HTTP surface: exec and files for the api, health and metrics for operators. */
import { BODY_MAX, CollimateError, FILE_TOTAL_MAX_MS } from "@collimate/contracts";
import type { Logger } from "@collimate/telemetry";
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import type { SandboxRegistry } from "../sandbox/registry.ts";
import { asCollimateError } from "./errors.ts";
import { registerInternalExec } from "./internal-exec.ts";
import { registerInternalFiles } from "./internal-files.ts";
import { limitReceiving } from "./receive-limit.ts";
import type { TokenCheck } from "./token.ts";

export interface ServerParts {
  readonly registry: SandboxRegistry;
  readonly tokens: TokenCheck;
  readonly log: Logger;
  /** Where files lie on their way into and out of sandboxes. */
  readonly transfers: string;
  readonly health: () => object;
}

const HOUR_MS = 3_600_000;
/** For a body of JSON to arrive. */
const RECEIVE_MS = 60_000;

export function makeServer(parts: ServerParts): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = parts.log.child({ part: "http" }, { level: "warn" });
  const server = Fastify({
    loggerInstance,
    bodyLimit: BODY_MAX,
    keepAliveTimeout: HOUR_MS,
    requestTimeout: FILE_TOTAL_MAX_MS,
    disableRequestLogging: true,
  });
  limitReceiving(server, RECEIVE_MS);
  server.setErrorHandler((error, _request, reply) => {
    const known = asCollimateError(error);
    if (known.status >= 500) parts.log.error({ err: error }, "request failed");
    return reply.code(known.status).send({ failure: known.toFailure() });
  });
  server.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ failure: new CollimateError("not_found", "no such route").toFailure() }),
  );
  server.get("/healthz", () => parts.health());
  registerInternalExec(server, parts.registry, parts.tokens);
  registerInternalFiles(server, parts.registry, parts.tokens, parts.transfers);
  return server;
}
