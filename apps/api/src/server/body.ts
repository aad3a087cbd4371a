// SPDX-License-Identifier: Apache-2.0
/** JSON in. Published clients send `Content-Type: application/json` with no body, on DELETE too (wire contract, section 1). */
import { CollimateError } from "@collimate/contracts";
import type { FastifyInstance } from "fastify";

export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8"), refusePrototype);
  } catch (cause) {
    if (cause instanceof CollimateError) throw cause;
    throw new CollimateError(
      "bad_request",
      `the body is not JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : "unreadable"}`,
      { cause },
    );
  }
}

function refusePrototype(key: string, value: unknown): unknown {
  if (key === "__proto__") throw new CollimateError("bad_request", "the body has a key __proto__");
  return value;
}

export function registerBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (_request, body, done) => {
    try {
      done(null, parseJson(body));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
