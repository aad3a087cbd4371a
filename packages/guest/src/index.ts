// SPDX-License-Identifier: Apache-2.0
export { GuestClient } from "./client.ts";
export type { GuestFile, GuestInfo } from "./client.ts";
export { Execution } from "./execution.ts";
export type { ExecOptions, ExecResult } from "./execution.ts";
export type { OutputHandlers } from "./output.ts";
export type { CodeRequest, CommandRequest, ExecRequest, ExecSettings, GuestIdentity } from "./request.ts";
export type { Dial } from "./connection.ts";
export { GuestError } from "./errors.ts";
export { LISTEN_NAME, PROTOCOL_VERSION } from "./protocol.ts";
