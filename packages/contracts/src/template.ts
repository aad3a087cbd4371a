// SPDX-License-Identifier: Apache-2.0
/** Templates: what a bake asks for, what its status says. */
import { z } from "zod";
import { idSchema } from "./identity.ts";

/** Limits of one sandbox. Children of a fork inherit them. */
export const resourcesSchema = z.object({
  vcpus: z.number().positive().max(256).default(1),
  memory_mib: z.int().min(32).max(1_048_576).default(4096),
  disk_mib: z.int().min(16).max(1_048_576).default(10_240),
  pids: z.int().min(16).max(65_536).default(1024),
});
export type Resources = z.infer<typeof resourcesSchema>;

export const envSchema = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "not a variable name"), z.string().max(65_536));

/** When is a booted image ready? `http` wins over `cmd` (wire contract, section 6). */
export const readySchema = z.object({
  cmd: z.string().max(65_536).optional(),
  http: z.string().max(2_048).optional(),
  http_timeout_s: z.int().min(0).max(3_600).optional(),
  timeout_s: z.int().min(1).max(3_600).optional(),
  ports: z.array(z.int().min(1).max(65_535)).max(64).optional(),
  env: envSchema.optional(),
  network: z.boolean().optional(),
});
export type Ready = z.infer<typeof readySchema>;

/** Ports, an HTTP check or `network` need an interface (wire contract, section 6). */
export function needsNetwork(ready: Ready): boolean {
  return ready.network === true || ready.http !== undefined || (ready.ports?.length ?? 0) > 0;
}

export const widthSchema = z.int().min(0).max(100_000);

export const createTemplateSchema = z.object({
  name: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/, "letters, digits and ._:@/- only"),
  image: z.string().min(1).max(1_024),
  pool: z.object({ width: widthSchema, cold_fraction: z.number().min(0).max(100).optional() }).optional(),
  ready: readySchema.optional(),
  expected_width: widthSchema.optional(),
  resources: resourcesSchema.partial().optional(),
});
export type CreateTemplate = z.infer<typeof createTemplateSchema>;

export const expectSchema = z.object({ width: widthSchema });

export const templatePhaseSchema = z.enum(["Pending", "Converting", "Distributing", "Live", "Failed"]);
export type TemplatePhase = z.infer<typeof templatePhaseSchema>;
export const bakeModeSchema = z.enum(["built", "inherited_artifact"]);

export const perNodeSchema = z.object({ node: z.string(), warm: z.int(), frozen: z.int() });

/** GET /v1/templates/{id}. Numeric fields are never null: published clients fail on null. */
export const templateStatusSchema = z.object({
  id: idSchema,
  name: z.string(),
  image: z.string(),
  visibility: z.enum(["public", "private"]),
  phase: templatePhaseSchema,
  declared: z.int(),
  warm: z.int(),
  frozen: z.int(),
  build_fails: z.int(),
  per_node: z.array(perNodeSchema),
  converge_state: z.enum(["converging", "converged"]),
  bake_mode: z.string(),
  error: z.string(),
  error_code: z.string().optional(),
  created_at: z.string(),
  resources: resourcesSchema,
  image_digest: z.string().optional(),
});
export type TemplateStatus = z.infer<typeof templateStatusSchema>;
