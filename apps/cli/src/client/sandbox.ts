// SPDX-License-Identifier: Apache-2.0
import { createSandboxReplySchema, execReplySchema, EXEC_TIMEOUT_DEFAULT_S, forkReplySchema } from "@collimate/contracts";
import type { ExecReply, ExecRequest, ForkReply } from "@collimate/contracts";
import type { ApiClient } from "./api.ts";

/** Beyond an exec's own limit: the server's way of ending it. */
const EXEC_MARGIN_MS = 30_000;

/** A live sandbox; `await using` deletes it. */
export class RemoteSandbox implements AsyncDisposable {
  readonly id: string;
  readonly #api: ApiClient;

  constructor(api: ApiClient, id: string) {
    this.#api = api;
    this.id = id;
  }

  /** Once asked for, it is waited for even when the signal fires: a sandbox that nobody knows of cannot be deleted. */
  static async create(api: ApiClient, template: string): Promise<RemoteSandbox> {
    const { id } = await api.post("/v1/sandboxes", createSandboxReplySchema, { body: { template } });
    return new RemoteSandbox(api, id);
  }

  exec(request: ExecRequest, signal?: AbortSignal): Promise<ExecReply> {
    const limitMs = (request.timeout_seconds ?? EXEC_TIMEOUT_DEFAULT_S) * 1_000 + EXEC_MARGIN_MS;
    return this.#api.post(`/v1/sandboxes/${this.id}/exec`, execReplySchema, {
      body: request,
      limitMs,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async fork(count: number): Promise<{ reply: ForkReply; children: RemoteSandbox[] }> {
    const reply = await this.#api.post(`/v1/sandboxes/${this.id}/fork`, forkReplySchema, { body: { count } });
    return { reply, children: reply.children.map((child) => new RemoteSandbox(this.#api, child.id)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.delete(`/v1/sandboxes/${this.id}`);
  }
}
