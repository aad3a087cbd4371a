// SPDX-License-Identifier: Apache-2.0
/** Files to and from a node, piece by piece: what one side does not take the other does not send (contracts/files.ts). */
import { CollimateError, FILE_HASH_HEADER, FILE_IDLE_MAX_MS, FILE_TYPE, fileReplySchema } from "@collimate/contracts";
import type { FileReply, PutFile } from "@collimate/contracts";
import { Readable } from "node:stream";
import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { isNotConnected, reason, refusal } from "../exec/agent-answer.ts";
import type { ExecTarget } from "../exec/agent-client.ts";
import { AgentTokens } from "../exec/agent-token.ts";

/** Transfers at once with one node; more wait for a free connection. */
const CONNECTIONS = 256;
const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;
/** A node answers once it has copied the whole file out of or into the sandbox, with checkpoints in between. */
const COPY_MS = 900_000;
const CHUNK = 256 * 1024;

export interface Upload extends PutFile {
  readonly bytes: AsyncIterable<Buffer>;
  /** As the caller announced it; undefined: not known. */
  readonly length: number | undefined;
  readonly sha256: string | undefined;
}

export interface Download {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Readable;
}

export class AgentFiles {
  readonly #tokens: AgentTokens;
  readonly #connections = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    headersTimeout: COPY_MS,
    bodyTimeout: FILE_IDLE_MAX_MS,
  });

  constructor(secret: string) {
    this.#tokens = new AgentTokens(secret);
  }

  async put(target: ExecTarget, upload: Upload, signal: AbortSignal): Promise<FileReply> {
    const { path, mode, length, sha256 } = upload;
    // A stream of its own: when the node refuses half way, the caller's connection must live on to be told.
    const body = Readable.from(upload.bytes, { objectMode: false, highWaterMark: CHUNK });
    const response = await this.#request(target, "PUT", { path, ...(mode === undefined ? {} : { mode: mode.toString(8) }) }, signal, {
      body,
      headers: {
        "content-type": FILE_TYPE,
        ...(length === undefined ? {} : { "content-length": String(length) }),
        ...(sha256 === undefined ? {} : { [FILE_HASH_HEADER]: sha256 }),
      },
    });
    if (response.statusCode !== 200) throw await refusal(target.nodeId, response);
    const reply = fileReplySchema.safeParse(await response.body.json());
    if (!reply.success)
      throw new CollimateError("upstream_error", `the answer of node ${target.nodeId} is not understood`, { cause: reply.error });
    return reply.data;
  }

  /** The bytes have to be read or destroyed. */
  async get(target: ExecTarget, path: string, signal: AbortSignal): Promise<Download> {
    const response = await this.#request(target, "GET", { path }, signal, {});
    if (response.statusCode !== 200) throw await refusal(target.nodeId, response);
    return { headers: response.headers, bytes: response.body };
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  async #request(
    target: ExecTarget,
    method: "GET" | "PUT",
    query: Record<string, string>,
    signal: AbortSignal,
    more: { body?: Readable; headers?: Record<string, string> },
  ): Promise<Dispatcher.ResponseData> {
    const token = await this.#tokens.for({ sub: target.sandboxId, tenant: target.tenantId, op: "files" });
    try {
      return await this.#connections.request({
        origin: new URL(target.nodeUrl).origin,
        path: `/internal/sandboxes/${target.sandboxId}/files?${new URLSearchParams(query).toString()}`,
        method,
        signal,
        ...more,
        headers: { ...more.headers, authorization: `Bearer ${token}` },
      });
    } catch (error) {
      const certain = isNotConnected(error) ? "nothing was changed" : "whether the file was changed is not known";
      const what = method === "GET" ? "" : `; ${certain}`;
      throw new CollimateError("upstream_error", `node ${target.nodeId} did not answer${what} (${reason(error)})`, { cause: error });
    }
  }
}
