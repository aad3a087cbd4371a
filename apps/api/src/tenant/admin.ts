// SPDX-License-Identifier: Apache-2.0
import { CollimateError, tierSchema } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { parse } from "../server/parse.ts";
import { bearer, sameSecret } from "./key.ts";
import type { TenantService } from "./service.ts";

export const createTenantSchema = z.object({ name: z.string().min(1).max(200), tier: tierSchema });

export function requireAdmin(header: string | undefined, adminToken: string): void {
  const token = bearer(header);
  if (token === undefined || !sameSecret(token, adminToken))
    throw new CollimateError("unauthorized", "this needs the administrator's token");
}

/** For `collimate up`, which makes the first tenant; the rest of administration is spoken over tRPC. */
export function adminRoutes(app: FastifyInstance, tenants: TenantService, adminToken: string): void {
  app.post(
    "/internal/tenants",
    { onRequest: async (request) => requireAdmin(request.headers.authorization, adminToken) },
    async (request, reply) => {
      const { name, tier } = parse(createTenantSchema, request.body);
      const { tenantId, apiKey } = await tenants.create(name, tier);
      return reply.code(201).send({ tenantId, apiKey });
    },
  );
}
