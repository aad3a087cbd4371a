// SPDX-License-Identifier: Apache-2.0
/** `Idempotency-Key`: the same key with the same request is the same operation, whatever became of the first reply. */
import { CollimateError } from "@collimate/contracts";
import { createHash } from "node:crypto";

export interface Idempotency {
  readonly key: string;
  /** Of method, route and body: what must be equal when the key is. */
  readonly requestHash: string;
}

/** JSON with keys in order, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
        : inner,
    ) ?? "null"
  );
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function idempotencyOf(header: string | string[] | undefined, action: string, body: unknown): Idempotency | null {
  if (header === undefined) return null;
  if (typeof header !== "string" || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw new CollimateError("bad_request", "Idempotency-Key: 1 to 255 printable characters without blanks");
  }
  return { key: header, requestHash: sha256(`${action}\n${canonicalJson(body ?? null)}`) };
}
