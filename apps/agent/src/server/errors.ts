// SPDX-License-Identifier: Apache-2.0
import { CollimateError } from "@collimate/contracts";
import { ZodError } from "zod";

export function asCollimateError(error: unknown): CollimateError {
  if (error instanceof CollimateError) return error;
  if (error instanceof ZodError) {
    const issue = error.issues[0];
    return new CollimateError("bad_request", `${issue?.path.join(".") || "body"}: ${issue?.message ?? "not valid"}`);
  }
  const status = error instanceof Error && "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  const message = error instanceof Error ? error.message : String(error);
  if (status === 413) return new CollimateError("payload_too_large", message);
  if (status === 415) return new CollimateError("unsupported_media_type", message);
  if (status === 404) return new CollimateError("not_found", message);
  if (status >= 400 && status < 500) return new CollimateError("bad_request", message);
  return new CollimateError("internal", message, { cause: error });
}
