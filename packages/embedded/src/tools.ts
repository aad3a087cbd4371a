// SPDX-License-Identifier: Apache-2.0
import { homedir } from "node:os";
import { join } from "node:path";

/** Where what was built or unpacked once per machine is kept (the launcher uses the same rule). */
export function toolsDirectory(): string {
  const named = process.env["COLLIMATE_TOOLS"];
  if (named !== undefined && named !== "") return named;
  return process.getuid?.() === 0 ? "/var/cache/collimate" : join(homedir(), ".cache", "collimate");
}
