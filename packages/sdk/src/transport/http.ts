// SPDX-License-Identifier: Apache-2.0
/** One server, one key: sends calls, repeats them where that is right, turns error replies into errors. */
import { ConfigurationError, DeadlineError, TransportError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { apiError } from "./api-error.ts";
import { readBody, readBytes, type ReceivedBytes } from "./read-body.ts";
import { nextTry, type Repeat } from "./retry.ts";
import { reasonOf, sleep } from "./sleep.ts";

export interface HttpOptions {
  /** Origin of the server, with a path prefix if there is one. */
  readonly url: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** Longest wait for one answer, in ms. The server holds a request for up to 110 s. */
  readonly timeoutMs: number;
  /** How long a call is repeated, in ms from its start. */
  readonly patienceMs: number;
  /** How often a call is repeated after a failure that is not a mere lack of room. */
  readonly retries: number;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Begins with a slash; ids in it are encoded. */
  readonly path: string;
  readonly body?: unknown;
  /** Sent as they are, in place of a JSON body. */
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly repeat: Repeat;
  readonly timeoutMs?: number;
  readonly patienceMs?: number;
  /** No try begins later than this, in ms from the start, however much patience there is. */
  readonly withinMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export class Http {
  readonly #options: HttpOptions;
  #closed = false;
  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#closed = true;
  }

  /** The reply's JSON. Rejects with an error of the tree, or with the signal's reason. */
  send(call: Call): Promise<unknown> {
    return this.#repeat(call, readBody);
  }

  /** The reply's bytes, at most `max` of them, and its headers. */
  sendForBytes(call: Call, max: number): Promise<ReceivedBytes> {
    return this.#repeat(call, (response) => readBytes(response, max));
  }

  async #repeat<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const headers = this.#headers(call);
    const ends = Date.now() + Math.min(call.patienceMs ?? this.#options.patienceMs, call.withinMs ?? Infinity);
    for (let attempts = 1; ; attempts++) {
      if (this.#closed) throw new ConfigurationError("the client is closed");
      try {
        return await this.#attempt(call, headers, read);
      } catch (error) {
        const delay = nextTry({ error, attempts, retries: this.#options.retries }, call.repeat);
        if (delay === undefined || Date.now() + delay > ends) throw error;
        await sleep(delay, call.signal);
      }
    }
  }

  #headers(call: Call): Headers {
    const headers = new Headers({
      accept: "application/json",
      authorization: `Bearer ${this.#options.apiKey}`,
      "user-agent": `collimate-sdk-js/${VERSION}`,
    });
    if (call.body !== undefined) headers.set("content-type", "application/json");
    for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
    if (call.repeat === "keyed") headers.set("idempotency-key", crypto.randomUUID());
    return headers;
  }

  async #attempt<T>(call: Call, headers: Headers, read: (response: Response) => Promise<T>): Promise<T> {
    const limit = call.timeoutMs ?? this.#options.timeoutMs;
    const late = AbortSignal.timeout(limit);
    const signal = call.signal ? AbortSignal.any([call.signal, late]) : late;
    try {
      const response = await this.#options.fetch(`${this.#options.url}${call.path}`, {
        method: call.method,
        headers,
        body: call.bytes ?? (call.body === undefined ? null : JSON.stringify(call.body)),
        // A redirect would carry the key to another place.
        redirect: "error",
        signal,
      });
      if (response.ok) return await read(response);
      throw apiError(response.status, response.headers, await readBody(response).catch(() => ({})));
    } catch (error) {
      throw this.#explain(error, call, late, limit);
    }
  }

  #explain(error: unknown, call: Call, late: AbortSignal, limit: number): unknown {
    if (call.signal?.aborted) return reasonOf(call.signal);
    if (late.aborted) return new DeadlineError(`${call.method} ${call.path}: no answer within ${limit} ms`);
    // fetch rejects with a TypeError for everything that went wrong below HTTP.
    if (!(error instanceof TypeError)) return error;
    return new TransportError(`${call.method} ${this.#options.url}${call.path}: ${causeText(error)}`, {
      cause: error,
      unsent: wasUnsent(error),
    });
  }
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "";
}

function causeText(error: TypeError): string {
  return error.cause instanceof Error ? error.cause.message || codeOf(error.cause) || error.message : error.message;
}

/** Node tells by the cause's code, Bun by its own. */
function wasUnsent(error: TypeError): boolean {
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ConnectionRefused"].includes(codeOf(error.cause) || codeOf(error));
}
