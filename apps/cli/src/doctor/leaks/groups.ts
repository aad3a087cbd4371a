// SPDX-License-Identifier: Apache-2.0
import { readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Leak } from "./leak.ts";
import { undeletedSnapshots } from "./rows.ts";
import type { Scene } from "./scene.ts";

/** The group that all holders of a node share. */
const HOLDERS = "holders";

/** Control groups of this node: every process of a sandbox is in one, below `collimate/<node>` of each hierarchy. */
export async function leakedGroups(scene: Scene): Promise<Leak[]> {
  if (scene.nodeId === undefined) return [];
  const found: Leak[] = [];
  for (const mount of await cgroupMounts()) {
    const base = join(mount, "collimate", scene.nodeId);
    for (const path of await groupsBelow(base)) {
      // While the agent runs, empty groups are slots that it keeps prepared.
      if (scene.agent === undefined) found.push({ kind: "cgroup", name: path, detail: "", remove: () => removeGroup(path) });
    }
    // The parent of all nodes' groups goes with the last of them.
    const parent = join(mount, "collimate");
    const nodes = await readdir(parent, { withFileTypes: true }).then(
      (entries) => entries.filter((entry) => entry.isDirectory()),
      () => undefined,
    );
    const ours = nodes !== undefined && nodes.length > 0 && nodes.every((node) => node.name === scene.nodeId);
    if (scene.agent === undefined && ours) found.push({ kind: "cgroup", name: parent, detail: "", remove: () => removeGroup(parent) });
  }
  return found;
}

/** Processes of sandboxes and holders that nobody knows. */
export async function leakedGroupProcesses(scene: Scene): Promise<Leak[]> {
  const inUse = await groupsInUse(scene);
  const holders = inUse.get(HOLDERS) ?? [];
  inUse.delete(HOLDERS);
  const { agent } = scene;
  if (agent === undefined) return [...inUse, [HOLDERS, holders] as const].flatMap(([group, pids]) => leaksOf(group, pids, "", scene));
  return [...excessSandboxes(inUse, agent.sandboxes, scene), ...(await excessHolders(holders, agent.sandboxes, scene))];
}

/** Each group holds one sandbox, so more groups in use than the agent knows sandboxes is too many. */
function excessSandboxes(inUse: ReadonlyMap<string, number[]>, known: number, scene: Scene): Leak[] {
  if (inUse.size <= known) return [];
  return [...inUse].flatMap(([group, pids]) =>
    leaksOf(group, pids, `; ${inUse.size} groups are in use, the agent knows ${known} sandboxes`, scene),
  );
}

/** One process holds one snapshot. While sandboxes live, forks have holders of their own, which only the agent can tell apart. */
async function excessHolders(pids: readonly number[], sandboxes: number, scene: Scene): Promise<Leak[]> {
  const kept = sandboxes > 0 ? undefined : await undeletedSnapshots(scene);
  if (kept === undefined || pids.length <= kept.size) return [];
  return leaksOf(HOLDERS, pids, `; ${pids.length} holders, ${kept.size} snapshots are kept`, scene);
}

function leaksOf(group: string, pids: readonly number[], more: string, scene: Scene): Leak[] {
  return pids.map((pid): Leak => ({
    kind: "process",
    name: String(pid),
    detail: `in control group ${group}${more}`,
    ...removal(scene, pid),
  }));
}

/** Groups of this node with processes in them: name below the node's directory, pids. */
async function groupsInUse(scene: Scene): Promise<Map<string, number[]>> {
  const inUse = new Map<string, number[]>();
  if (scene.nodeId === undefined) return inUse;
  for (const mount of await cgroupMounts()) {
    const base = join(mount, "collimate", scene.nodeId);
    for (const path of await groupsBelow(base)) {
      const pids = await pidsOf(path);
      if (pids.length > 0) inUse.set(path.slice(base.length + 1), pids);
    }
  }
  return inUse;
}

/** While the agent runs, its processes are its own to end. */
function removal(scene: Scene, pid: number): Pick<Leak, "remove"> {
  return scene.agent === undefined ? { remove: () => kill(pid) } : {};
}

export async function kill(pid: number): Promise<void> {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

async function cgroupMounts(): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  return lines.flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const path = before.split(" ")[4];
    return path !== undefined && /^cgroup2? /.test(after) ? [path] : [];
  });
}

/** A directory of the tree and all below it, deepest first; empty when there is none. */
async function groupsBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const children = await Promise.all(entries.filter((entry) => entry.isDirectory()).map((entry) => groupsBelow(join(path, entry.name))));
  return [...children.flat(), path];
}

async function pidsOf(group: string): Promise<number[]> {
  const text = await readFile(join(group, "cgroup.procs"), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean).map(Number);
}

/** rmdir answers EBUSY until the kernel has let go of the last process. */
async function removeGroup(path: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rmdir(path);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT") return;
      if (code !== "EBUSY" || attempt === 100) throw error;
      await delay(20);
    }
  }
}
