// SPDX-License-Identifier: Apache-2.0
/** What a route knows about its request. */
import { CollimateError } from "@collimate/contracts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Authenticator, Caller } from "../tenant/authenticate.ts";

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** Every route registered on `app` after this needs a live key; it is asked for before the body is read. */
export function requireCaller(app: FastifyInstance, authenticator: Authenticator): void {
  app.addHook("onRequest", async (request) => {
    request.caller = await authenticator.require(request.headers.authorization);
  });
}

export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new CollimateError("internal", "a route was registered without authentication");
  return request.caller;
}
