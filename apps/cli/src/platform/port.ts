// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "@collimate/embedded";
import { Complaint } from "../complaint.ts";

export async function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  const server = createServer();
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}

/** A process that was ended a moment ago may hold its port a little longer. */
const PATIENCE_MS = 1_000;
const POLL_MS = 50;

/** The first free one of the preferred ports, else any. */
export async function choosePort(preferred: readonly (number | undefined)[], host?: string): Promise<number> {
  for (const port of preferred) {
    if (port !== undefined && (await becomesFree(port, host))) return port;
  }
  return freePort();
}

async function becomesFree(port: number, host?: string): Promise<boolean> {
  for (const until = performance.now() + PATIENCE_MS; ; await delay(POLL_MS)) {
    if (await isFree(port, host)) return true;
    if (performance.now() > until) return false;
  }
}

/** A port that the user named: taken is an error, not a reason to use another. */
export async function insistOnPort(port: number, host: string): Promise<number> {
  if (await isFree(port, host)) return port;
  throw new Complaint(`port ${port} on ${host} is in use by another program`, { hint: "Choose another with --port, or none." });
}
