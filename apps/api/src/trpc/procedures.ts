// SPDX-License-Identifier: Apache-2.0
/** tRPC: the same services as REST, for the console, the CLI and what is internal. */
import { CollimateError, errorBody } from "@collimate/contracts";
import { initTRPC, TRPCError } from "@trpc/server";
import type { TRPC_ERROR_CODE_KEY } from "@trpc/server";
import type { Hold } from "../operation/hold.ts";
import { toCollimateError } from "../server/errors.ts";
import { requireAdmin } from "../tenant/admin.ts";
import type { Authenticator } from "../tenant/authenticate.ts";

export interface TrpcContext {
  readonly authorization: string | undefined;
  readonly requestId: string;
  readonly hold: Hold;
  readonly authenticator: Authenticator;
  readonly adminToken: string;
}

const BY_STATUS: Readonly<Record<number, TRPC_ERROR_CODE_KEY>> = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  402: "PAYMENT_REQUIRED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  410: "NOT_FOUND",
  413: "PAYLOAD_TOO_LARGE",
  422: "UNPROCESSABLE_CONTENT",
  429: "TOO_MANY_REQUESTS",
  501: "NOT_IMPLEMENTED",
  502: "BAD_GATEWAY",
  503: "SERVICE_UNAVAILABLE",
  504: "GATEWAY_TIMEOUT",
};

const t = initTRPC.context<TrpcContext>().create({
  /** `data.collimate` is the REST error body. */
  errorFormatter: ({ shape, error, ctx }) => {
    const told =
      error.cause instanceof CollimateError
        ? error.cause
        : error.code === "INTERNAL_SERVER_ERROR"
          ? toCollimateError(error.cause)
          : new CollimateError("bad_request", error.message);
    const { stack: _stack, ...data } = shape.data;
    return { ...shape, message: told.message, data: { ...data, collimate: errorBody(told, ctx?.requestId ?? "") } };
  },
});

/** Errors of the catalogue keep their status. */
const catalogued = t.middleware(async ({ next }) => {
  const result = await next();
  if (!result.ok && result.error.cause instanceof CollimateError) {
    throw new TRPCError({
      code: BY_STATUS[result.error.cause.status] ?? "INTERNAL_SERVER_ERROR",
      message: result.error.cause.message,
      cause: result.error.cause,
    });
  }
  return result;
});

export const router = t.router;
export const openProcedure = t.procedure.use(catalogued);

export const tenantProcedure = openProcedure.use(async ({ ctx, next }) => {
  const caller = await ctx.authenticator.require(ctx.authorization);
  return next({ ctx: { ...ctx, caller } });
});

export const adminProcedure = openProcedure.use(async ({ ctx, next }) => {
  requireAdmin(ctx.authorization, ctx.adminToken);
  return next();
});
