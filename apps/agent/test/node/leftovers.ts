// SPDX-License-Identifier: Apache-2.0
/** What a node has on its host: counted before and after, so that whatever stays behind is named. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { Cgroups, HostClient } from "@collimate/host";
import type { NodeFacts } from "./agent-process.ts";

export interface Footprint {
  /** Control groups with processes in them, and how many. */
  readonly groups: Record<string, number>;
  /** Mount points below the state folder, in the agent's mount namespace. */
  readonly mounts: string[];
  /** Network namespaces of those processes, and those that the agent or its daemon keeps open. */
  readonly networks: number;
  /** Processes that the mechanism daemon watches. */
  readonly watched: string[];
  readonly folders: {
    readonly sandboxes: string[];
    readonly snapshots: string[];
    readonly memory: string[];
    readonly rootfs: string[];
    readonly layouts: string[];
  };
}

export async function footprint(node: Pick<NodeFacts, "nodeId" | "pid" | "state">): Promise<Footprint> {
  const { groups, pids } = await processesOf(node.nodeId);
  await using host = await HostClient.connect(join(node.state, "run", "hostd.sock"));
  const [{ watches }, { pid: hostd }] = [await host.list(), await host.stat()];
  // The agent's tmpfs is seen in its own mount namespace only.
  const inside = `/proc/${node.pid}/root`;
  const names = async (folder: string) => (await readdir(join(inside, node.state, folder))).toSorted();
  return {
    groups,
    mounts: await mountsBelow(node.state, node.pid),
    networks: (await networksOf([...pids, node.pid, hostd])).size - 1,
    watched: watches.map(({ key }) => key).toSorted(),
    folders: {
      sandboxes: await names("sandboxes"),
      snapshots: await names("snapshots"),
      memory: await names("memory"),
      rootfs: await names("rootfs"),
      layouts: await names("layouts"),
    },
  };
}

/** What is left of a node whose agent has ended; everything in it should be empty. */
export async function remains(
  node: Pick<NodeFacts, "nodeId" | "state">,
): Promise<{ groups: string[]; processes: number; mounts: string[] }> {
  const cgroups = await Cgroups.open({ node: node.nodeId });
  const groups = await cgroups.list();
  const { pids } = await processesOf(node.nodeId);
  if (groups.length === 0) await cgroups.close();
  return { groups, processes: pids.length, mounts: await mountsBelow(node.state, "self") };
}

export async function processesOf(nodeId: string): Promise<{ groups: Record<string, number>; pids: number[] }> {
  const cgroups = await Cgroups.open({ node: nodeId });
  const groups: Record<string, number> = {};
  const pids: number[] = [];
  for (const name of (await cgroups.list()).toSorted()) {
    const members = await cgroups.get(name).processes();
    if (members.length > 0) groups[name] = members.length;
    pids.push(...members);
  }
  return { groups, pids };
}

/** Ends and removes all that is left of a node whose agent has ended. */
export async function sweep(nodeId: string): Promise<void> {
  const cgroups = await Cgroups.open({ node: nodeId });
  for (const name of await cgroups.list()) {
    await cgroups.get(name).killAll();
    await cgroups.get(name).remove();
  }
  await cgroups.close();
}

async function mountsBelow(folder: string, pid: number | "self"): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/mountinfo`, "utf8");
  return text
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${folder}/`))
    .map((point) => point.slice(folder.length))
    .toSorted();
}

/** The host's own is always among them. */
async function networksOf(pids: readonly number[]): Promise<Set<string>> {
  const found = new Set<string>();
  const keep = async (link: string) => {
    const name = await readlink(link).catch(() => "");
    if (name.startsWith("net:")) found.add(name);
  };
  await keep("/proc/self/ns/net");
  for (const pid of pids) {
    await keep(`/proc/${pid}/ns/net`);
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) await keep(`/proc/${pid}/fd/${fd}`);
  }
  return found;
}

/** The one init that runs on the node. */
export async function initOf(nodeId: string): Promise<number> {
  const { pids } = await processesOf(nodeId);
  const statuses = await Promise.all(
    pids.map(async (pid) => ({ pid, status: await readFile(`/proc/${pid}/status`, "utf8").catch(() => "") })),
  );
  const inits = statuses.filter(({ status }) => /^NSpid:.*\t1$/m.test(status)).map(({ pid }) => pid);
  const [init] = inits;
  if (init === undefined || inits.length > 1) throw new Error(`${inits.length} sandboxes run on the node, not one`);
  return init;
}
