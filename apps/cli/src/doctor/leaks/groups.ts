// SPDX-License-Identifier: Apache-2.0
import { readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Leak } from "./leak.ts";
import type { Scene } from "./scene.ts";

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
    const nodes = await readdir(parent, { withFileTypes: true }).then((entries) => entries.filter((entry) => entry.isDirectory()), () => undefined);
    const ours = nodes?.every((node) => node.name === scene.nodeId) ?? false;
    if (scene.agent === undefined && ours) found.push({ kind: "cgroup", name: parent, detail: "", remove: () => removeGroup(parent) });
  }
  return found;
}

/** The processes of sandboxes that nobody knows: each group holds one sandbox, so more groups in use than sandboxes is too many. */
export async function leakedSandboxProcesses(scene: Scene): Promise<Leak[]> {
  if (scene.nodeId === undefined) return [];
  const inUse = new Map<string, number[]>();
  for (const mount of await cgroupMounts()) {
    const base = join(mount, "collimate", scene.nodeId);
    for (const path of await groupsBelow(base)) {
      const pids = await pidsOf(path);
      if (pids.length > 0) inUse.set(path.slice(base.length + 1), pids);
    }
  }
  const known = scene.agent?.sandboxes ?? 0;
  if (inUse.size <= known) return [];
  const which = known === 0 ? "" : `; ${inUse.size} groups are in use, the agent knows ${known} sandboxes`;
  return [...inUse].flatMap(([group, pids]) =>
    pids.map((pid): Leak => ({ kind: "process", name: String(pid), detail: `in control group ${group}${which}`, ...removal(scene, pid) })),
  );
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
