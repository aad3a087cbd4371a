// SPDX-License-Identifier: Apache-2.0
/** The one catalogue of errors. Everything that a client can be told has its row here. */
import { z } from "zod";

export interface ErrorRow {
  /** HTTP status on every surface. */
  readonly status: number;
  /** Whether the same request may succeed later without being changed. */
  readonly retryable: boolean;
  /** What the caller can do about it; one sentence. */
  readonly hint: string;
  /** The daemon surface's word for it where clients of that surface know another. */
  readonly daemonCode?: string;
}

/** Codes fixed by published clients (wire contract, section 3) and ours, which stay within statuses that those treat as final. */
export const ERRORS = {
  bad_request: { status: 400, retryable: false, hint: "Correct the named field and send the request again." },
  invalid_seed: { status: 400, retryable: false, hint: "A seed is exactly 64 hexadecimal digits." },
  template_id_required: { status: 400, retryable: false, hint: "Name the template in template_id." },
  unauthorized: { status: 401, retryable: false, hint: "Send a live API key as `Authorization: Bearer col_...`." },
  insufficient_credits: { status: 402, retryable: false, hint: "Raise the spend limit or add credit." },
  forbidden: { status: 403, retryable: false, hint: "This key may not do that." },
  demo_tier_limit: { status: 403, retryable: false, hint: "The demo tier has fixed limits; use a pro key." },
  network_requires_pro: { status: 403, retryable: false, hint: "Network and ports need a pro key." },
  not_found: { status: 404, retryable: false, hint: "Check the id; it may have been deleted.", daemonCode: "no_such_session" },
  template_in_use: { status: 409, retryable: true, hint: "Delete the template's live sandboxes first." },
  conflict: { status: 409, retryable: true, hint: "The object changed meanwhile; read it again and repeat." },
  idempotency_key_reused: { status: 422, retryable: false, hint: "Use a new Idempotency-Key for another body." },
  port_not_exposed: { status: 409, retryable: false, hint: "Declare the port in Ready(ports=[...]) and bake again." },
  session_gone: { status: 410, retryable: false, hint: "Create a new sandbox." },
  payload_too_large: { status: 413, retryable: false, hint: "Send less at once: large files one by one, by the file routes." },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    hint: "Send the content type that the route takes: JSON, or application/octet-stream for a file.",
  },
  quota_exceeded: { status: 429, retryable: false, hint: "The plan's limit is reached." },
  rate_limited: { status: 429, retryable: true, hint: "Wait as long as Retry-After says." },
  internal: { status: 500, retryable: false, hint: "Report this with the request id." },
  upstream_error: { status: 502, retryable: true, hint: "A part behind the API did not answer; try again." },
  bake_failed: { status: 422, retryable: false, hint: "Read the build error, correct the image or the ready check, bake again." },
  not_captureable: {
    status: 422,
    retryable: false,
    hint: "The sandbox holds something that cannot be checkpointed; the message names it.",
  },
  snapshot_damaged: {
    status: 422,
    retryable: false,
    hint: "A template is baked again by itself; a suspended sandbox is lost unless the named file can be put back.",
  },
  snapshot_incompatible: {
    status: 422,
    retryable: false,
    hint: "Restore it on a node like the one it was taken on; a template is baked again by itself.",
  },
  snapshot_missing: { status: 422, retryable: false, hint: "No node and no registry has it; bake the template again." },
  no_space: { status: 503, retryable: true, hint: "Nothing was kept. Free disk or memory on the node, or raise its budget." },
  fork_failed: { status: 500, retryable: true, hint: "No child was kept; the parent lives on. Try again." },
  create_failed: { status: 500, retryable: true, hint: "Nothing was kept. Try again." },
  does_not_fit: { status: 422, retryable: false, hint: "Raise the template's resources." },
  at_capacity: { status: 503, retryable: true, hint: "Nothing was made. Try again." },
  draining: { status: 503, retryable: true, hint: "This node takes no new work; try again." },
  session_bringup_failed: { status: 503, retryable: true, hint: "Nothing was made. Try again." },
  network_unavailable: {
    status: 503,
    retryable: true,
    hint: "Nothing was made. The operator of the server finds the reason in the message; a template without network needs none.",
  },
  operation_timeout: { status: 504, retryable: true, hint: "The operation goes on; ask for it again by its id." },
  not_implemented: { status: 501, retryable: false, hint: "This server does not have it yet." },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant; Object.keys forgets them
export const errorCodeSchema = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

/** What travels between services when something failed. `detail` is for operators: log tails, cut and without secrets. */
export const failureSchema = z.object({
  code: errorCodeSchema,
  message: z.string().max(8_000),
  detail: z.string().max(16_000).optional(),
});
export type Failure = z.infer<typeof failureSchema>;

/** An error of the catalogue, with a cause for the log. */
export class CollimateError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  constructor(code: ErrorCode, message: string, options: { cause?: unknown; detail?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CollimateError";
    this.code = code;
    this.detail = options.detail;
  }
  get status(): number {
    return ERRORS[this.code].status;
  }
  toFailure(): Failure {
    return { code: this.code, message: this.message.slice(0, 8_000), ...(this.detail ? { detail: this.detail.slice(-16_000) } : {}) };
  }
  static fromFailure(failure: Failure): CollimateError {
    return new CollimateError(failure.code, failure.message, failure.detail ? { detail: failure.detail } : {});
  }
}

/** The body of every error on every surface: the fields that each published client reads, all strings. */
export interface ErrorBody {
  code: string;
  message: string;
  error: string;
  error_code: string;
  hint: string;
  retryable: boolean;
  request_id: string;
  doc_url: string;
  detail?: string;
}

export function errorBody(error: CollimateError, requestId: string, surface: "gateway" | "daemon" = "gateway"): ErrorBody {
  const row: ErrorRow = ERRORS[error.code];
  return {
    code: error.code,
    message: error.message,
    error: error.message,
    error_code: surface === "daemon" ? (row.daemonCode ?? error.code) : error.code,
    hint: row.hint,
    retryable: row.retryable,
    request_id: requestId,
    doc_url: `/docs/errors/${error.code}`,
    ...(error.detail ? { detail: error.detail } : {}),
  };
}
