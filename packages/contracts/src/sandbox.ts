// SPDX-License-Identifier: Apache-2.0
/** Sandboxes: create, fork, rows. */
import { z } from "zod";
import { idSchema } from "./identity.ts";
import { resourcesSchema } from "./template.ts";

export const seedSchema = z.string().regex(/^[0-9a-fA-F]{64}$/, "a seed is exactly 64 hexadecimal digits");

const names = z.array(z.string().min(1).max(253)).max(1_024);
export const egressSchema = z.object({
  mode: z.enum(["open", "none", "allowlist", "denylist"]).optional(),
  allow: names.optional(),
  deny: names.optional(),
  preset: z.string().max(64).optional(),
});
export type Egress = z.infer<typeof egressSchema>;

/** Lists without a mode are policies too (wire contract, section 6). */
export function isUnrestricted(egress: Egress | null): boolean {
  if (egress === null) return true;
  const { mode, allow, deny, preset } = egress;
  return mode === "open" || (mode === undefined && allow === undefined && deny === undefined && preset === undefined);
}

export const labelsSchema = z.record(z.string().min(1).max(128), z.string().max(1_024));

export const createSandboxSchema = z.object({
  template: z.string().min(1).max(1_024),
  label: z.string().max(1_024).optional(),
  labels: labelsSchema.optional(),
  egress: egressSchema.optional(),
  secret_refs: z.array(z.string().max(128)).max(64).optional(),
});
export type CreateSandbox = z.infer<typeof createSandboxSchema>;

/** `labels` is positional here, unlike on create (wire contract, section 6). `seeds` is ours: one per child. */
export const forkSandboxSchema = z.object({
  count: z.int().min(1).max(4_096).default(1),
  labels: z.array(z.string().max(1_024)).optional(),
  seeds: z.array(seedSchema.nullable()).optional(),
});
export type ForkSandbox = z.infer<typeof forkSandboxSchema>;

export const sandboxStateSchema = z.enum([
  "requested",
  "placing",
  "starting",
  "running",
  "suspending",
  "suspended",
  "resuming",
  "deleting",
  "deleted",
  "failed",
]);
export type SandboxState = z.infer<typeof sandboxStateSchema>;

export const endpointsSchema = z.record(z.string(), z.string());

export const sandboxRowSchema = z.object({
  id: idSchema,
  session_id: idSchema,
  template: z.string(),
  template_id: z.string(),
  state: sandboxStateSchema,
  label: z.string(),
  labels: labelsSchema,
  parent_id: z.string(),
  group_id: z.string(),
  endpoints: endpointsSchema,
  resources: resourcesSchema,
  created_at: z.string(),
  age_secs: z.number(),
  idle_secs: z.number(),
  exec_count: z.int(),
  error: z.string(),
});
export type SandboxRow = z.infer<typeof sandboxRowSchema>;

export const createSandboxReplySchema = sandboxRowSchema.extend({ fork_time_ms: z.number(), create_time_ms: z.number() });
export const forkReplySchema = z.object({
  id: idSchema,
  parent: idSchema,
  group_id: z.string(),
  fork_time_ms: z.number(),
  pause_ms: z.number(),
  children: z.array(sandboxRowSchema),
});
export type ForkReply = z.infer<typeof forkReplySchema>;

/** Daemon surface. */
export const createSessionSchema = z.object({ template_id: z.string().min(1).max(1_024), egress: egressSchema.optional() });
export const sessionInfoSchema = z.object({
  session_id: idSchema,
  template_id: z.string(),
  age_secs: z.number(),
  idle_secs: z.number(),
  exec_count: z.int(),
  endpoints: endpointsSchema,
});
export type SessionInfo = z.infer<typeof sessionInfoSchema>;
