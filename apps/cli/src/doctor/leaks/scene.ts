// SPDX-License-Identifier: Apache-2.0
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { readRecord } from "@collimate/embedded";
import type { ProcessIdentity } from "@collimate/embedded";
import { z } from "zod";
import { PARTS } from "../../platform/parts.ts";
import { readEndpoints } from "../../state/endpoints.ts";
import { recordPath } from "../../state/paths.ts";
import type { StatePaths } from "../../state/paths.ts";
import { readSecrets } from "../../state/secrets.ts";

/** What the platform says of itself, against which the host is held. */
export interface Scene {
  paths: StatePaths;
  tools: string;
  /** Undefined: this platform was never up. */
  nodeId: string | undefined;
  parts: ReadonlyMap<string, ProcessIdentity>;
  /** The running agent and the number of sandboxes that it knows; undefined: it does not run. */
  agent: { pid: number; sandboxes: number } | undefined;
  databaseUrl: string | undefined;
  /** Another platform's mechanism daemon runs on this host, so what carries no node's name may be its. */
  shared: boolean;
}

const healthSchema = z.object({ sandboxes: z.int().nonnegative() });

export async function lookAround(paths: StatePaths): Promise<Scene> {
  const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
  const [secrets, endpoints] = await Promise.all([readSecrets(paths), readEndpoints(paths)]);
  const parts = new Map<string, ProcessIdentity>();
  for (const part of PARTS) {
    const identity = await readRecord(recordPath(paths, part.name));
    if (identity !== undefined) parts.set(part.name, identity);
  }
  const agent = parts.get("agent");
  const url = endpoints["agent"]?.url;
  return {
    paths,
    tools,
    nodeId: secrets?.nodeId,
    parts,
    agent: agent === undefined || url === undefined ? undefined : { pid: agent.pid, sandboxes: await sandboxesOf(url) },
    databaseUrl: parts.has("postgres") ? endpoints["postgres"]?.url : undefined,
    shared: await runsAnywhere(["collimate-hostd"], agent?.pid),
  };
}

async function sandboxesOf(agentUrl: string): Promise<number> {
  const reply = await fetch(`${agentUrl}/healthz`, { signal: AbortSignal.timeout(5_000) });
  return healthSchema.parse(await reply.json()).sandboxes;
}

/** Whether a program with one of these file names runs on this host, other than below the given process. */
export async function runsAnywhere(names: readonly string[], exceptChildrenOf?: number): Promise<boolean> {
  for (const { pid, parent } of await processes()) {
    const program = await readlink(`/proc/${pid}/exe`).catch(() => "");
    if (names.includes(basename(program)) && parent !== exceptChildrenOf) return true;
  }
  return false;
}

export interface ProcessEntry {
  pid: number;
  parent: number;
}

/** All processes of the host. Those that end while we look are left out. */
export async function processes(): Promise<ProcessEntry[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => ({ pid, parent: await parentOf(pid) })));
  return found.flatMap(({ pid, parent }) => (parent === undefined ? [] : [{ pid, parent }]));
}

async function parentOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  const parent = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
  return parent === undefined ? undefined : Number(parent);
}
