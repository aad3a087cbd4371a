// SPDX-License-Identifier: Apache-2.0
/** Node limits the arrival of every request alike; a large file takes longer than a body of JSON may. */
import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Milliseconds in which the whole request has to arrive; missing: the server's usual limit. */
    receiveMs?: number;
  }
}

export function limitReceiving(server: FastifyInstance, usualMs: number): void {
  server.addHook("onRequest", async (request, reply) => {
    const limit = request.routeOptions.config.receiveMs ?? usualMs;
    const timer = setTimeout(() => {
      if (!request.raw.complete) request.raw.destroy(new Error(`the request did not arrive within ${limit} ms`));
    }, limit);
    reply.raw.once("close", () => clearTimeout(timer));
  });
}
