// SPDX-License-Identifier: Apache-2.0
/** Exec on a node: one POST, one stream back, over connections that stay open (contracts/agent-stream.ts). */
import { AGENT_SILENCE_MAX_MS, CollimateError } from "@collimate/contracts";
import type { AgentExit, ExecRequest } from "@collimate/contracts";
import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { isNotConnected, reason, refusal } from "./agent-answer.ts";
import { AgentTokens } from "./agent-token.ts";
import { readLines } from "./lines.ts";

/** Execs at once on one node; more wait for a free connection. */
const CONNECTIONS = 4_096;
const CONNECT_MS = 5_000;
/** Below the node's own, so that a connection is never used just as the node closes it. */
const IDLE_MS = 30_000;

export interface ExecTarget {
  readonly nodeId: string;
  readonly nodeUrl: string;
  readonly sandboxId: string;
  readonly tenantId: string;
}

export interface ExecSink {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
}

export class AgentClient {
  readonly #tokens: AgentTokens;
  readonly #connections = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    headersTimeout: AGENT_SILENCE_MAX_MS,
    bodyTimeout: AGENT_SILENCE_MAX_MS,
  });

  constructor(secret: string) {
    this.#tokens = new AgentTokens(secret);
  }

  /** `upstream_error` when the node cannot be reached or its stream breaks; the message says whether something may have been run. */
  async exec(target: ExecTarget, body: ExecRequest, sink: ExecSink, signal: AbortSignal): Promise<AgentExit> {
    const response = await this.#post(target, body, signal);
    if (response.statusCode !== 200) throw await refusal(target.nodeId, response);
    try {
      return await readExit(response.body, sink);
    } catch (error) {
      response.body.destroy();
      if (error instanceof CollimateError) throw error;
      throw new CollimateError(
        "upstream_error",
        `the answer of node ${target.nodeId} broke off; whether the command ended is not known (${reason(error)})`,
        { cause: error },
      );
    }
  }

  async #post(target: ExecTarget, body: ExecRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const token = await this.#tokens.for({ sub: target.sandboxId, tenant: target.tenantId, op: "exec" });
    try {
      return await this.#connections.request({
        origin: new URL(target.nodeUrl).origin,
        path: `/internal/sandboxes/${target.sandboxId}/exec`,
        method: "POST",
        signal,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    } catch (error) {
      const certain = isNotConnected(error) ? "nothing was run" : "whether something was run is not known";
      throw new CollimateError("upstream_error", `node ${target.nodeId} did not answer; ${certain} (${reason(error)})`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }
}

async function readExit(stream: AsyncIterable<Buffer>, sink: ExecSink): Promise<AgentExit> {
  let exit: AgentExit | undefined;
  for await (const line of readLines(stream)) {
    if (exit) throw new Error("something came after the end");
    switch (line.t) {
      case "o":
        sink.stdout(Buffer.from(line.d, "base64"));
        break;
      case "e":
        sink.stderr(Buffer.from(line.d, "base64"));
        break;
      case "k":
        break;
      case "x":
        exit = line;
        break;
      case "err":
        throw CollimateError.fromFailure(line.failure);
    }
  }
  if (!exit) throw new Error("the stream ended without a result");
  return exit;
}
