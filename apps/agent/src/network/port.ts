// SPDX-License-Identifier: Apache-2.0
import type { Duplex } from "node:stream";
import { CollimateError } from "@collimate/contracts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** A connection to a port that the sandbox's template declares. It needs no network of the sandbox's: the way in is the agent's. */
export async function openPort(sandbox: Sandbox, port: number): Promise<Duplex> {
  if (!sandbox.ports.includes(port))
    throw new CollimateError("port_not_exposed", `port ${port} is not declared by the template of ${sandbox.id}`);
  return await sandbox.links.connect(port);
}
