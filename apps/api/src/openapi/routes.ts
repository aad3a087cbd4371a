// SPDX-License-Identifier: Apache-2.0
import type { FastifyInstance } from "fastify";
import { openApiDocument } from "./document.ts";

export function openApiRoutes(app: FastifyInstance, version: string): void {
  const document = openApiDocument(version);
  app.get("/v1/openapi.json", async () => document);
}
