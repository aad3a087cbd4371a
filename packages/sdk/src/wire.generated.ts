// SPDX-License-Identifier: Apache-2.0

// Written by scripts/generate-wire.ts from @collimate/contracts. Do not edit: `pnpm generate:wire` writes it anew.

/** Every code of the error catalogue. */
export type ErrorCode =
  | "bad_request"
  | "invalid_seed"
  | "template_id_required"
  | "unauthorized"
  | "insufficient_credits"
  | "forbidden"
  | "demo_tier_limit"
  | "network_requires_pro"
  | "not_found"
  | "template_in_use"
  | "conflict"
  | "idempotency_key_reused"
  | "port_not_exposed"
  | "session_gone"
  | "payload_too_large"
  | "unsupported_media_type"
  | "quota_exceeded"
  | "rate_limited"
  | "internal"
  | "upstream_error"
  | "bake_failed"
  | "not_captureable"
  | "snapshot_damaged"
  | "snapshot_incompatible"
  | "snapshot_missing"
  | "no_space"
  | "fork_failed"
  | "create_failed"
  | "does_not_fit"
  | "at_capacity"
  | "draining"
  | "session_bringup_failed"
  | "network_unavailable"
  | "operation_timeout"
  | "not_implemented";

export type CreateTemplate = {
  name: string;
  image: string;
  pool?: {
    width: number;
    cold_fraction?: number;
  };
  ready?: Ready;
  expected_width?: number;
  resources?: {
    vcpus?: number;
    memory_mib?: number;
    disk_mib?: number;
    pids?: number;
  };
};

export type Ready = {
  cmd?: string;
  http?: string;
  http_timeout_s?: number;
  timeout_s?: number;
  ports?: Array<number>;
  env?: Record<string, string>;
  network?: boolean;
};

export type Egress = {
  mode?: "open" | "none" | "allowlist" | "denylist";
  allow?: Array<string>;
  deny?: Array<string>;
  preset?: string;
};

export type CreateSandbox = {
  template: string;
  label?: string;
  labels?: Record<string, string>;
  egress?: Egress;
  secret_refs?: Array<string>;
};

export type ForkSandbox = {
  count?: number;
  labels?: Array<string>;
  seeds?: Array<string | null>;
};

export type ExecRequest = {
  command?: string;
  code?: string;
  commands?: Array<Array<string>>;
  files?: Array<{
    path: string;
    content: string;
  }>;
  timeout_seconds?: number;
  seed?: string;
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  stdin?: string;
};

export type Resources = {
  vcpus: number;
  memory_mib: number;
  disk_mib: number;
  pids: number;
};

export type TemplatePhase = "Pending" | "Converting" | "Distributing" | "Live" | "Failed";

export type PerNode = {
  node: string;
  warm: number;
  frozen: number;
};

export type TemplateStatusReply = {
  id: string;
  name: string;
  image: string;
  visibility: "public" | "private";
  phase: TemplatePhase;
  declared: number;
  warm: number;
  frozen: number;
  build_fails: number;
  per_node: Array<PerNode>;
  converge_state: "converging" | "converged";
  bake_mode: string;
  error: string;
  error_code?: string;
  created_at: string;
  resources: Resources;
  image_digest?: string;
};

export type SandboxState = "requested" | "placing" | "starting" | "running" | "suspending" | "suspended" | "resuming" | "deleting" | "deleted" | "failed";

export type SandboxRow = {
  id: string;
  session_id: string;
  template: string;
  template_id: string;
  state: SandboxState;
  label: string;
  labels: Record<string, string>;
  parent_id: string;
  group_id: string;
  endpoints: Record<string, string>;
  resources: Resources;
  created_at: string;
  age_secs: number;
  idle_secs: number;
  exec_count: number;
  error: string;
};

export type CreateSandboxReply = {
  id: string;
  session_id: string;
  template: string;
  template_id: string;
  state: SandboxState;
  label: string;
  labels: Record<string, string>;
  parent_id: string;
  group_id: string;
  endpoints: Record<string, string>;
  resources: Resources;
  created_at: string;
  age_secs: number;
  idle_secs: number;
  exec_count: number;
  error: string;
  fork_time_ms: number;
  create_time_ms: number;
};

export type ForkReply = {
  id: string;
  parent: string;
  group_id: string;
  fork_time_ms: number;
  pause_ms: number;
  children: Array<SandboxRow>;
};

export type SeedAck = "verified" | "partial" | "off" | "no-ack";

export type ExecReply = {
  stdout: string;
  stderr: string;
  exit_code: number;
  id: string;
  fork_time_ms: number;
  exec_time_ms: number;
  total_time_ms: number;
  seed: string;
  seed_ack: SeedAck;
  timed_out: boolean;
  oom_killed: boolean;
  signal: number;
  truncated: boolean;
  results?: Array<{
    stdout: string;
    stderr: string;
    exit_code: number;
  }>;
};

export type UsageTotals = {
  sandboxes: number;
  live_seconds: number;
  vcpu_seconds: number;
  memory_gib_seconds: number;
  cost_micros: number;
};

export type UsageReply = {
  from: string;
  to: string;
  totals: UsageTotals;
};

