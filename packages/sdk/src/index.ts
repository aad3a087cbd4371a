// SPDX-License-Identifier: Apache-2.0
/** The TypeScript client of Collimate: bake a template, open a session, fork it, grade in parallel, throw all away. */
export { Client } from "./client.ts";
export { connect, type ConnectOptions } from "./connection/connect.ts";
export {
  ApiError,
  type ApiErrorFacts,
  AuthenticationError,
  BadRequestError,
  BakeFailedError,
  CapacityError,
  CollimateError,
  ConfigurationError,
  ConflictError,
  DeadlineError,
  FileError,
  ForkFailedError,
  NotFoundError,
  PermissionDeniedError,
  QuotaExceededError,
  RateLimitedError,
  SeedNotAppliedError,
  ServerError,
  SessionClosedError,
  TeardownError,
  TransportError,
} from "./errors.ts";
export type { ExecOptions, ExecResult } from "./session/exec.ts";
export type { DownloadOptions, FileOptions, UploadOptions } from "./session/files.ts";
export { ForkGroup, type ForkOptions } from "./session/fork-group.ts";
export type { MapOptions } from "./session/map-all.ts";
export type { SandboxInfo } from "./session/sandbox.ts";
export { DETERMINISTIC_SEED, freshSeed, groupSeeds, isSeed, seedFromKey, type SeedMode } from "./session/seed.ts";
export { Session, type SessionOptions } from "./session/session.ts";
export { Env, type EnvOptions } from "./template/env.ts";
export { TemplateHandle, type WaitOptions } from "./template/handle.ts";
export type { TemplateStatus } from "./template/status.ts";
export { type BakeOptions, Template } from "./template/template.ts";
export type { Usage, UsageQuery } from "./usage.ts";
export type {
  CreateTemplate,
  Egress,
  ErrorCode,
  PerNode,
  Ready,
  Resources,
  SandboxState,
  SeedAck,
  TemplatePhase,
} from "./wire.generated.ts";
export { VERSION } from "./version.ts";
