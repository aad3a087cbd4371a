// SPDX-License-Identifier: Apache-2.0
/** From an error reply to the error of the tree. */
import {
  ApiError,
  type ApiErrorFacts,
  AuthenticationError,
  BadRequestError,
  CapacityError,
  ConflictError,
  NotFoundError,
  PermissionDeniedError,
  QuotaExceededError,
  RateLimitedError,
  ServerError,
} from "../errors.ts";
import { record, text } from "../json.ts";

const BY_CODE: Readonly<Record<string, typeof ApiError>> = {
  demo_tier_limit: QuotaExceededError,
  insufficient_credits: QuotaExceededError,
  quota_exceeded: QuotaExceededError,
  rate_limited: RateLimitedError,
  at_capacity: CapacityError,
  draining: CapacityError,
  session_bringup_failed: CapacityError,
};
const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: QuotaExceededError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  410: NotFoundError,
  413: BadRequestError,
  415: BadRequestError,
  422: BadRequestError,
  429: RateLimitedError,
};
/** Statuses with which a proxy in between says that it, or what is behind it, has a bad moment. */
const PASSING_STATUSES: readonly number[] = [429, 502, 503, 504];
/** A server that asks for more patience than this is not believed. */
const RETRY_AFTER_MAX_S = 300;

export function apiError(status: number, headers: Headers, body: unknown): ApiError {
  const json = record(body);
  const code = text(json, "code", text(json, "error_code", `http_${status}`));
  const facts: ApiErrorFacts = {
    status,
    code,
    hint: text(json, "hint"),
    retryable: typeof json["retryable"] === "boolean" ? json["retryable"] : PASSING_STATUSES.includes(status),
    retryAfterSeconds: retryAfter(headers),
    requestId: text(json, "request_id", headers.get("x-request-id") ?? ""),
    docUrl: text(json, "doc_url"),
    detail: text(json, "detail"),
    path: text(json, "path"),
  };
  const Kind = BY_CODE[code] ?? BY_STATUS[status] ?? (status >= 500 ? ServerError : ApiError);
  return new Kind(text(json, "message", text(json, "error", `the server answered ${status}`)), facts);
}

/** Seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(headers: Headers): number {
  const value = headers.get("retry-after");
  if (value === null) return 0;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), RETRY_AFTER_MAX_S) : 0;
}
