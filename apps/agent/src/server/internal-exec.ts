// SPDX-License-Identifier: Apache-2.0
/** POST /internal/sandboxes/:id/exec: the hot path between api and sandbox. No queue, no database. */
import { PassThrough } from "node:stream";
import {
  AGENT_CHUNK_MAX,
  AGENT_KEEPALIVE_MS,
  AGENT_STREAM_TYPE,
  type AgentLine,
  CollimateError,
  execRequestSchema,
} from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import { execInSandbox } from "../sandbox/exec.ts";
import type { SandboxRegistry } from "../sandbox/registry.ts";
import { asCollimateError } from "./errors.ts";
import type { TokenCheck } from "./token.ts";

export function registerInternalExec(server: FastifyInstance, registry: SandboxRegistry, tokens: TokenCheck): void {
  server.post<{ Params: { id: string } }>("/internal/sandboxes/:id/exec", async (request, reply) => {
    const claims = await tokens.verify(request.headers.authorization, request.params.id, "exec");
    const sandbox = registry.live(request.params.id);
    if (sandbox.tenantId !== claims.tenant) throw new CollimateError("not_found", `sandbox ${sandbox.id} does not live on this node`);
    const body = execRequestSchema.parse(request.body);

    const stream = new PassThrough({ highWaterMark: 4 * AGENT_CHUNK_MAX });
    let lastLine = Date.now();
    const send = (line: AgentLine) => {
      lastLine = Date.now();
      stream.write(`${JSON.stringify(line)}\n`);
    };
    const chunked = (t: "o" | "e") => (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += AGENT_CHUNK_MAX)
        send({ t, d: chunk.subarray(at, at + AGENT_CHUNK_MAX).toString("base64") });
    };
    const gone = new AbortController();
    reply.raw.once("close", () => {
      if (!reply.raw.writableFinished) gone.abort();
    });
    const keepAlive = setInterval(() => {
      if (Date.now() - lastLine >= AGENT_KEEPALIVE_MS) send({ t: "k" });
    }, AGENT_KEEPALIVE_MS / 2);
    // The headers leave with the first line: the api learns at once that the command was taken.
    send({ t: "k" });
    void execInSandbox(sandbox, body, { stdout: chunked("o"), stderr: chunked("e") }, gone.signal)
      .then(send, (error: unknown) => {
        request.log.warn({ err: error, sandboxId: sandbox.id }, "exec failed");
        send({ t: "err", failure: asCollimateError(error).toFailure() });
      })
      .finally(() => {
        clearInterval(keepAlive);
        stream.end();
      });
    return reply.type(AGENT_STREAM_TYPE).send(stream);
  });
}
