// SPDX-License-Identifier: Apache-2.0
import { errorCodeSchema } from "@collimate/contracts";
import { z } from "zod";
import { Complaint } from "../complaint.ts";
import { readUserProfile } from "../state/profile.ts";

/** Longer than the server holds a request for room (110 s). An exec's reply trickles, so it is bounded by its own limit. */
const CALL_LIMIT_MS = 120_000;

const errorBodySchema = z.looseObject({
  code: errorCodeSchema.or(z.string()),
  message: z.string(),
  hint: z.string().optional(),
  detail: z.string().optional(),
  request_id: z.string().optional(),
});

export interface CallOptions {
  body?: unknown;
  signal?: AbortSignal;
  limitMs?: number;
}

/** Calls of the public REST surface with one key. */
export class ApiClient {
  readonly url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.url = url.replace(/\/+$/, "");
    this.#key = key;
  }

  get<T>(path: string, schema: z.ZodType<T>, options: CallOptions = {}): Promise<T> {
    return this.#call("GET", path, schema, options);
  }

  post<T>(path: string, schema: z.ZodType<T>, options: CallOptions = {}): Promise<T> {
    return this.#call("POST", path, schema, options);
  }

  /** Deleting what is gone already is a success. */
  async delete(path: string): Promise<void> {
    await this.#call("DELETE", path, z.unknown(), {}).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    });
  }

  async #call<T>(method: string, path: string, schema: z.ZodType<T>, { body, signal, limitMs = CALL_LIMIT_MS }: CallOptions): Promise<T> {
    const limit = AbortSignal.timeout(limitMs);
    let reply: Response;
    let text: string;
    try {
      reply = await fetch(`${this.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      text = await reply.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new Complaint(`${method} ${this.url}${path} got no answer`, { hint: "Is the platform up? `collimate status` tells.", cause });
    }
    if (!reply.ok) throw errorOf(reply.status, text);
    return schema.parse(JSON.parse(text));
  }
}

export class ApiError extends Complaint {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string, hint: string | undefined) {
    super(message, hint === undefined ? {} : { hint });
    this.status = status;
    this.code = code;
  }
}

function errorOf(status: number, text: string): ApiError {
  try {
    const { code, message, hint, detail, request_id } = errorBodySchema.parse(JSON.parse(text));
    const more = detail === undefined ? "" : `\n${detail}`;
    return new ApiError(status, code, `${message} (${code}${request_id === undefined ? "" : `, ${request_id}`})${more}`, hint);
  } catch {
    return new ApiError(status, "unknown", `the server answered ${status}: ${text.slice(0, 500)}`, undefined);
  }
}

/** COLLIMATE_API_KEY and COLLIMATE_BASE_URL, else the profile that `up` wrote. */
export async function connect(): Promise<ApiClient> {
  const key = process.env["COLLIMATE_API_KEY"];
  const url = process.env["COLLIMATE_BASE_URL"];
  const profile = key === undefined || url === undefined ? await readUserProfile() : undefined;
  const [useUrl, useKey] = [url ?? profile?.url, key ?? profile?.apiKey];
  if (useUrl === undefined || useKey === undefined) {
    throw new Complaint("no platform is known", {
      hint: "Start one with `collimate up`, or set COLLIMATE_BASE_URL and COLLIMATE_API_KEY.",
    });
  }
  return new ApiClient(useUrl, useKey);
}
