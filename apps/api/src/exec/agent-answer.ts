// SPDX-License-Identifier: Apache-2.0
/** From what came back from a node, or did not, to an error of the catalogue. */
import { agentRefusalSchema, CollimateError } from "@collimate/contracts";
import { errors } from "undici";
import type { Dispatcher } from "undici";

const REFUSAL_MAX = 64 * 1024;

/** What a node said instead of doing it. Its view of our token is no business of the caller. */
export async function refusal(nodeId: string, response: Dispatcher.ResponseData): Promise<CollimateError> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    if (!Buffer.isBuffer(chunk) || (length += chunk.length) > REFUSAL_MAX) break;
    chunks.push(chunk);
  }
  const parsed = agentRefusalSchema.safeParse(tryJson(Buffer.concat(chunks).toString("utf8")));
  if (parsed.success && parsed.data.failure.code !== "unauthorized") return CollimateError.fromFailure(parsed.data.failure);
  return new CollimateError("upstream_error", `node ${nodeId} refused with HTTP ${response.statusCode}; nothing was done`);
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Nothing of the request can have arrived. */
export function isNotConnected(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"].includes(code);
}

export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "TimeoutError" ? "the time limit passed without an answer" : error.message;
}
