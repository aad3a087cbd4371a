// SPDX-License-Identifier: Apache-2.0
import type { Sandbox } from "./sandbox.ts";

/** Declared ports. On the gateway the presence of a port says that it is exposed; traffic goes through connect-url. */
export function endpointsOf(sandbox: Pick<Sandbox, "ports" | "id">): Record<string, string> {
  return Object.fromEntries(sandbox.ports.map((port) => [String(port), `${sandbox.id}:${port}`]));
}
