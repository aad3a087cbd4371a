// SPDX-License-Identifier: Apache-2.0
/** From a client's bytes to plain types; what does not fit is a bad_request that names the field. */
import { CollimateError } from "@collimate/contracts";
import type { ErrorCode } from "@collimate/contracts";
import type { z } from "zod";

/** `files[2].path` */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`)).join("");
}

/** Fields whose fault has a code of its own on every surface (wire contract, section 3). */
const OWN_CODE: Readonly<Record<string, ErrorCode>> = { seed: "invalid_seed", template_id: "template_id_required" };

export function parse<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input ?? {});
  if (result.success) return result.data;
  const named = result.error.issues.slice(0, 5).map((issue) => {
    const field = fieldPath(issue.path);
    return field === "" ? issue.message : `${field}: ${issue.message}`;
  });
  const more = result.error.issues.length - named.length;
  const first = fieldPath(result.error.issues[0]?.path ?? []);
  throw new CollimateError(OWN_CODE[first] ?? "bad_request", named.join("; ") + (more > 0 ? `; and ${more} more` : ""));
}
