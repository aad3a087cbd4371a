// SPDX-License-Identifier: Apache-2.0
/** PUT and GET /internal/sandboxes/:id/files: whole files between api and sandbox (contracts/files.ts). */
import {
  CollimateError,
  FILE_HASH_HEADER,
  FILE_MODE_HEADER,
  FILE_TOTAL_MAX_MS,
  FILE_TYPE,
  fileHashSchema,
  getFileSchema,
  putFileSchema,
} from "@collimate/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { getFile, putFile } from "../files/transfer.ts";
import type { SandboxRegistry } from "../sandbox/registry.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { TokenCheck } from "./token.ts";

interface ById {
  Params: { id: string };
}

/** `folder`: where bytes lie on their way. */
export function registerInternalFiles(server: FastifyInstance, registry: SandboxRegistry, tokens: TokenCheck, folder: string): void {
  const sandboxOf = async (request: FastifyRequest<ById>): Promise<Sandbox> => {
    const { id } = request.params;
    const { tenant } = await tokens.verify(request.headers.authorization, id, "files");
    const sandbox = registry.find(id);
    // Not `not_found`: on these routes that is the file.
    if (sandbox?.tenantId !== tenant || sandbox.ending)
      throw new CollimateError("session_gone", `sandbox ${id} does not live on this node`);
    return sandbox;
  };
  void server.register(async (files) => {
    files.removeAllContentTypeParsers();
    // The body stays a stream.
    files.addContentTypeParser(FILE_TYPE, (_request, _payload, done) => done(null));
    files.put<ById>("/internal/sandboxes/:id/files", { config: { receiveMs: FILE_TOTAL_MAX_MS } }, async (request, reply) => {
      const sandbox = await sandboxOf(request);
      const query = putFileSchema.parse(request.query);
      const sha256 = fileHashSchema.optional().parse(request.headers[FILE_HASH_HEADER]);
      // A request that is refused half read must still be answered: its stream is not to be destroyed.
      const bytes: AsyncIterable<Buffer> = request.raw.iterator({ destroyOnReturn: false });
      try {
        return await putFile(sandbox, folder, { ...query, sha256, bytes }, gone(reply));
      } finally {
        request.raw.resume(); // what was not taken lies before the connection's next request
      }
    });
    files.get<ById>("/internal/sandboxes/:id/files", { exposeHeadRoute: false }, async (request, reply) => {
      const sandbox = await sandboxOf(request);
      const { path } = getFileSchema.parse(request.query);
      const { mode, spool } = await getFile(sandbox, folder, path, gone(reply));
      return reply
        .type(FILE_TYPE)
        .headers({ "content-length": spool.size, [FILE_HASH_HEADER]: spool.sha256, [FILE_MODE_HEADER]: mode.toString(8).padStart(4, "0") })
        .send(spool.stream());
    });
  });
}

/** Aborted when the caller leaves before the answer is out. */
function gone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort(new CollimateError("upstream_error", "the caller left; nothing was changed"));
  });
  return controller.signal;
}
