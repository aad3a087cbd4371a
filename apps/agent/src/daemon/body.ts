// SPDX-License-Identifier: Apache-2.0
/** JSON in. Published clients send `Content-Type: application/json` with no body, on DELETE too (wire contract, section 1). */
import { CollimateError, type ErrorCode } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";
import type { z } from "zod";

/** Fields whose fault has a code of its own (wire contract, section 3). */
const OWN_CODE: Readonly<Record<string, ErrorCode>> = { seed: "invalid_seed", template_id: "template_id_required" };
const FAULTS_TOLD = 5;

export function takeJson(server: FastifyInstance): void {
  // JSON alone: a page in a browser cannot send that to another origin without asking first, and nobody answers it.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<string>("application/json", { parseAs: "string" }, (_request, text, done) => {
    if (text === "") return done(null, undefined);
    try {
      done(null, JSON.parse(text));
    } catch (cause) {
      done(new CollimateError("bad_request", `the body is not JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : ""}`));
    }
  });
}

/** A body of this shape; what does not fit is told by the name of its field. */
export function readBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => ({ field: issue.path.map(String).join("."), message: issue.message }));
  const told = faults.slice(0, FAULTS_TOLD).map(({ field, message }) => (field ? `${field}: ${message}` : message));
  throw new CollimateError(OWN_CODE[faults[0]?.field ?? ""] ?? "bad_request", told.join("; "));
}
