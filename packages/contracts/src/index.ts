// SPDX-License-Identifier: Apache-2.0
export * from "./agent-stream.ts";
export * from "./errors.ts";
export * from "./exec.ts";
export * from "./files.ts";
export * from "./identity.ts";
export * from "./jobs.ts";
export * from "./sandbox.ts";
export * from "./state.ts";
export * from "./template.ts";
export * from "./usage.ts";
