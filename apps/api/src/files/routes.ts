// SPDX-License-Identifier: Apache-2.0
import {
  FILE_HASH_HEADER,
  FILE_IDLE_MAX_MS,
  FILE_MODE_HEADER,
  FILE_TOTAL_MAX_MS,
  FILE_TYPE,
  fileHashSchema,
  getFileSchema,
  putFileSchema,
} from "@collimate/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { holdRequest } from "../operation/hold-request.ts";
import { parse } from "../server/parse.ts";
import type { Platform } from "../server/platform.ts";
import { callerOf } from "../server/route-context.ts";
import { arriving } from "./arriving.ts";
import type { FilesService } from "./service.ts";

interface ById {
  Params: { id: string };
}

const headersSchema = z.object({
  "content-length": z.coerce.number().int().nonnegative().optional(),
  [FILE_HASH_HEADER]: fileHashSchema.optional(),
});

export function fileRoutes(app: FastifyInstance, platform: Platform, files: FilesService): void {
  const put = async (request: FastifyRequest<ById>, reply: FastifyReply) => {
    const query = parse(putFileSchema, request.query);
    const { "content-length": length, [FILE_HASH_HEADER]: sha256 } = parse(headersSchema, request.headers);
    const upload = { ...query, length, sha256, bytes: arriving(request.raw) };
    return files.put(callerOf(request), request.params.id, upload, holdRequest(platform, reply));
  };
  const get = async (request: FastifyRequest<ById>, reply: FastifyReply) => {
    const { path } = parse(getFileSchema, request.query);
    const { headers, bytes } = await files.get(callerOf(request), request.params.id, path, holdRequest(platform, reply));
    cutIdle(reply);
    for (const name of ["content-length", FILE_HASH_HEADER, FILE_MODE_HEADER]) void reply.header(name, headers[name]);
    return reply
      .type(FILE_TYPE)
      .headers({ etag: `"${String(headers[FILE_HASH_HEADER])}"`, "x-content-type-options": "nosniff" })
      .send(bytes);
  };
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // The body stays a stream.
    scope.addContentTypeParser(FILE_TYPE, (_request, _payload, done) => done(null));
    for (const path of ["/v1/sandboxes/:id/files", "/v1/sessions/:id/files"]) {
      scope.put<ById>(path, { config: { receiveMs: FILE_TOTAL_MAX_MS } }, put);
      scope.get<ById>(path, { exposeHeadRoute: false }, get);
    }
  });
}

/** A caller that takes nothing for a minute is cut off. */
function cutIdle(reply: FastifyReply): void {
  reply.raw.setTimeout(FILE_IDLE_MAX_MS); // without a listener of its own the server destroys the socket
  // Before the server's own listener, which sets the time that the connection may idle between requests.
  reply.raw.prependOnceListener("finish", () => reply.raw.setTimeout(0));
}
