// SPDX-License-Identifier: Apache-2.0
/** HTTP to the node's own surface, close enough to the wire to send what clients in the field send. */
import { type Agent, request } from "node:http";
import { text } from "node:stream/consumers";

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** Undefined when the text is no JSON. */
  readonly json: unknown;
}

export interface Ask {
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly agent?: Agent;
  readonly signal?: AbortSignal;
}

export type Target = { readonly socketPath: string } | { readonly port: number };

export async function ask(target: Target, method: string, path: string, options: Ask = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  // As the published clients do: the type is sent on every request, with a body or without.
  const headers = { "content-type": "application/json", ...options.headers };
  const call = request(
    {
      ...target,
      host: "127.0.0.1",
      method,
      path,
      headers,
      ...(options.agent ? { agent: options.agent } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    },
    (reply) => {
      text(reply).then((body) => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text: body, json: parse(body) }), reject);
    },
  );
  call.once("error", reject);
  call.end(options.body === undefined ? undefined : typeof options.body === "string" ? options.body : JSON.stringify(options.body));
  return promise;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
