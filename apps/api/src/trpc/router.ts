// SPDX-License-Identifier: Apache-2.0
import {
  createSandboxSchema,
  createTemplateSchema,
  forkSandboxSchema,
  idSchema,
  usageQuerySchema,
  widthSchema,
} from "@collimate/contracts";
import { z } from "zod";
import type { Services } from "../services.ts";
import { createTenantSchema } from "../tenant/admin.ts";
import { adminProcedure, openProcedure, router, tenantProcedure } from "./procedures.ts";

const byReference = z.object({ id: z.string().min(1).max(1_024) });
const byId = z.object({ id: idSchema });

function templateRouter({ templates }: Services) {
  return router({
    list: tenantProcedure.query(({ ctx }) => templates.list(ctx.caller)),
    get: tenantProcedure.input(byReference).query(({ ctx, input }) => templates.get(ctx.caller, input.id)),
    create: tenantProcedure.input(createTemplateSchema).mutation(({ ctx, input }) => templates.create(ctx.caller, input)),
    expect: tenantProcedure
      .input(byReference.extend({ width: widthSchema }))
      .mutation(({ ctx, input }) => templates.expect(ctx.caller, input.id, input.width)),
    release: tenantProcedure.input(byReference).mutation(({ ctx, input }) => templates.release(ctx.caller, input.id)),
    delete: tenantProcedure.input(byReference).mutation(({ ctx, input }) => templates.delete(ctx.caller, input.id)),
  });
}

function sandboxRouter({ sandboxes }: Services) {
  return router({
    list: tenantProcedure.query(({ ctx }) => sandboxes.list(ctx.caller)),
    get: tenantProcedure.input(byId).query(({ ctx, input }) => sandboxes.get(ctx.caller, input.id)),
    create: tenantProcedure.input(createSandboxSchema).mutation(({ ctx, input }) => sandboxes.create(ctx.caller, input, null, ctx.hold)),
    fork: tenantProcedure
      .input(forkSandboxSchema.extend({ id: idSchema }))
      .mutation(({ ctx, input: { id, ...body } }) => sandboxes.fork(ctx.caller, id, body, null, ctx.hold)),
    suspend: tenantProcedure.input(byId).mutation(({ ctx, input }) => sandboxes.suspend(ctx.caller, input.id, ctx.hold)),
    resume: tenantProcedure.input(byId).mutation(({ ctx, input }) => sandboxes.resume(ctx.caller, input.id, ctx.hold)),
    delete: tenantProcedure.input(byId).mutation(({ ctx, input }) => sandboxes.delete(ctx.caller, input.id, ctx.hold)),
  });
}

function adminRouter({ tenants }: Services) {
  const newKey = z.object({
    tenantId: idSchema,
    name: z.string().max(200).default(""),
    expiresAt: z.iso.datetime({ offset: true }).optional(),
  });
  return router({
    tenants: adminProcedure.query(() => tenants.list()),
    createTenant: adminProcedure.input(createTenantSchema).mutation(({ input }) => tenants.create(input.name, input.tier)),
    createKey: adminProcedure
      .input(newKey)
      .mutation(({ input }) => tenants.createKey(input.tenantId, input.name, input.expiresAt ? new Date(input.expiresAt) : null)),
    revokeKey: adminProcedure.input(z.object({ keyId: z.string().max(80) })).mutation(({ input }) => tenants.revokeKey(input.keyId)),
    setVisibility: adminProcedure
      .input(z.object({ templateId: idSchema, visibility: z.enum(["public", "private"]) }))
      .mutation(({ input }) => tenants.setVisibility(input.templateId, input.visibility)),
  });
}

export function appRouter(services: Services) {
  return router({
    health: openProcedure.query(() => services.health.health()),
    templates: templateRouter(services),
    sandboxes: sandboxRouter(services),
    usage: tenantProcedure.input(usageQuerySchema.optional()).query(({ ctx, input }) => services.usage.totals(ctx.caller, input ?? {})),
    admin: adminRouter(services),
  });
}

/** For typed clients (`createTRPCClient<AppRouter>`). */
export type AppRouter = ReturnType<typeof appRouter>;
