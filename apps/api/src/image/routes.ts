// SPDX-License-Identifier: Apache-2.0
import type { FastifyInstance } from "fastify";
import { callerOf } from "../server/route-context.ts";
import type { ImageService } from "./service.ts";

export function imageRoutes(app: FastifyInstance, images: ImageService): void {
  app.get("/v1/images", async (request) => ({ images: await images.list(callerOf(request)) }));
}
