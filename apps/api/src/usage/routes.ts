// SPDX-License-Identifier: Apache-2.0
import { usageQuerySchema } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import { parse } from "../server/parse.ts";
import { callerOf } from "../server/route-context.ts";
import type { UsageService } from "./service.ts";

export function usageRoutes(app: FastifyInstance, usage: UsageService): void {
  app.get("/v1/usage", (request) => usage.totals(callerOf(request), parse(usageQuerySchema, request.query)));
}
