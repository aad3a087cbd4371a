// SPDX-License-Identifier: Apache-2.0
import { fastifyTRPCPlugin } from "@trpc/server/adapters/fastify";
import type { FastifyTRPCPluginOptions } from "@trpc/server/adapters/fastify";
import type { FastifyInstance } from "fastify";
import { holdRequest } from "../operation/hold-request.ts";
import type { Platform } from "../server/platform.ts";
import type { Services } from "../services.ts";
import { appRouter } from "./router.ts";
import type { AppRouter } from "./router.ts";

export async function mountTrpc(app: FastifyInstance, platform: Platform, services: Services): Promise<void> {
  const trpcOptions: FastifyTRPCPluginOptions<AppRouter>["trpcOptions"] = {
    router: appRouter(services),
    createContext: ({ req, res }) => ({
      authorization: req.headers.authorization,
      requestId: req.id,
      hold: holdRequest(platform, res),
      authenticator: services.authenticator,
      adminToken: platform.config.adminToken,
    }),
    onError: ({ error, path, req }) => {
      if (error.code === "INTERNAL_SERVER_ERROR") req.log.error({ err: error, path }, "tRPC call failed");
    },
    maxBatchSize: 50,
  };
  await app.register(fastifyTRPCPlugin, { prefix: "/trpc", trpcOptions });
}
