// SPDX-License-Identifier: Apache-2.0
/** The way to a port of a sandbox. The checks are those of the wire contract; the tunnel behind them does not exist yet. */
import { CollimateError, TIER_LIMITS } from "@collimate/contracts";
import { z } from "zod";
import type { Platform } from "../server/platform.ts";
import { templateSpecSchema } from "../template/spec.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";

export const connectUrlSchema = z.object({
  port: z.int().min(1).max(65_535),
  ttl_seconds: z.number().optional(),
  protocol: z.enum(["tcp", "cdp"]).optional(),
});

/** Clients show a 403 of this route only when it says "pro", and rewrite every 409 to "port not exposed" (wire contract, section 3). */
export async function connectUrl(platform: Platform, caller: Caller, id: string, port: number): Promise<never> {
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  const sandbox = await scope.sandbox(id);
  if (!TIER_LIMITS[caller.tier].network) throw new CollimateError("network_requires_pro", "connecting to a sandbox needs a pro key");
  const template = await scope.templateOf(sandbox);
  const declared = templateSpecSchema.parse(template.spec).ready.ports ?? [];
  if (!declared.includes(port))
    throw new CollimateError("port_not_exposed", `port ${port} is not declared by template ${sandbox.templateId}`);
  throw new CollimateError("not_implemented", "this server has no tunnel to sandboxes yet");
}
