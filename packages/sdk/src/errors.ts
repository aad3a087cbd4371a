// SPDX-License-Identifier: Apache-2.0
/**
 * One tree of errors:
 *
 *     CollimateError
 *     ├── ApiError                  the server answered with an error
 *     │   ├── BadRequestError       400, 413, 415, 422: the request itself is wrong
 *     │   ├── AuthenticationError   401: no live key
 *     │   ├── PermissionDeniedError 403: this key may not
 *     │   ├── QuotaExceededError    a limit of the plan or the tier, or no credit
 *     │   ├── RateLimitedError      429: too fast
 *     │   ├── NotFoundError         404, 410
 *     │   ├── ConflictError         409
 *     │   ├── CapacityError         503: nothing was made
 *     │   └── ServerError           any other 5xx
 *     ├── TransportError            no usable answer
 *     │   └── DeadlineError         no answer in time
 *     ├── BakeFailedError           a template will not become ready
 *     ├── ForkFailedError           a fork gave another number of children than asked; none was kept
 *     ├── FileError                 a file in the sandbox that is not there, is no file, or is too large
 *     ├── SessionClosedError        the session was closed
 *     ├── SeedNotAppliedError       `requireSeed` and the server did not verify the seed
 *     ├── TeardownError             some sandboxes could not be deleted
 *     └── ConfigurationError        no key, no address, an unreadable profile, a call that makes no sense
 */
import type { TemplateStatus } from "./template/status.ts";
import type { ErrorCode } from "./wire.generated.ts";

export class CollimateError extends Error {
  override name = "CollimateError";
}

/** What the server said of an error. */
export interface ApiErrorFacts {
  /** HTTP status. */
  readonly status: number;
  /** The catalogue's word; another word when the server is newer than this client or the answer is not the platform's own. */
  readonly code: ErrorCode | (string & {});
  /** What to do about it. */
  readonly hint: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Seconds that the server asks to wait before that, 0 if it did not say. */
  readonly retryAfterSeconds: number;
  /** Finds the request in the server's log. */
  readonly requestId: string;
  readonly docUrl: string;
  /** For operators: the last lines of a log. May hold output of the sandbox: show it as text only. */
  readonly detail: string;
  /** The file in the sandbox that is at fault; empty if none is. */
  readonly path: string;
}

export class ApiError extends CollimateError implements ApiErrorFacts {
  override name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly hint: string;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number;
  readonly requestId: string;
  readonly docUrl: string;
  readonly detail: string;
  readonly path: string;
  constructor(message: string, facts: ApiErrorFacts) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.hint = facts.hint;
    this.retryable = facts.retryable;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.requestId = facts.requestId;
    this.docUrl = facts.docUrl;
    this.detail = facts.detail;
    this.path = facts.path;
  }
}

export class BadRequestError extends ApiError {
  override name = "BadRequestError";
}
export class AuthenticationError extends ApiError {
  override name = "AuthenticationError";
}
export class PermissionDeniedError extends ApiError {
  override name = "PermissionDeniedError";
}
export class QuotaExceededError extends ApiError {
  override name = "QuotaExceededError";
}
export class RateLimitedError extends ApiError {
  override name = "RateLimitedError";
}
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}
export class ConflictError extends ApiError {
  override name = "ConflictError";
}
export class CapacityError extends ApiError {
  override name = "CapacityError";
}
export class ServerError extends ApiError {
  override name = "ServerError";
}

export class TransportError extends CollimateError {
  override name = "TransportError";
  /** Whether it is certain that the server never saw the request. */
  readonly unsent: boolean;
  constructor(message: string, options: { cause?: unknown; unsent?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.unsent = options.unsent ?? false;
  }
}
export class DeadlineError extends TransportError {
  override name = "DeadlineError";
}

export class BakeFailedError extends CollimateError {
  override name = "BakeFailedError";
  /** The last status seen. */
  readonly template: TemplateStatus;
  constructor(message: string, template: TemplateStatus) {
    super(message);
    this.template = template;
  }
}

export class ForkFailedError extends CollimateError {
  override name = "ForkFailedError";
}
export class FileError extends CollimateError {
  override name = "FileError";
  readonly path: string;
  /** `cause` is the server's answer, if it was the server that said so. */
  constructor(message: string, options: { cause?: unknown; path?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.path = options.path ?? "";
  }
}
export class SessionClosedError extends CollimateError {
  override name = "SessionClosedError";
}
export class SeedNotAppliedError extends CollimateError {
  override name = "SeedNotAppliedError";
}
export class ConfigurationError extends CollimateError {
  override name = "ConfigurationError";
}

export class TeardownError extends CollimateError {
  override name = "TeardownError";
  /** What was left, and why. */
  readonly failures: readonly { readonly sandboxId: string; readonly error: unknown }[];
  constructor(failures: readonly { readonly sandboxId: string; readonly error: unknown }[]) {
    super(
      `${failures.length} sandbox${failures.length === 1 ? "" : "es"} could not be deleted: ${failures.map((failure) => failure.sandboxId).join(", ")}`,
      {
        cause: failures[0]?.error,
      },
    );
    this.failures = failures;
  }
}
