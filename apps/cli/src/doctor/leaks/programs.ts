// SPDX-License-Identifier: Apache-2.0
import { readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { kill } from "./groups.ts";
import type { Leak } from "./leak.ts";
import { processes } from "./scene.ts";
import type { Scene } from "./scene.ts";

/** Our programs that work on this platform's files without belonging to a part of it: holders, dumps, daemons of a dead agent. */
export async function leakedPrograms(scene: Scene): Promise<Leak[]> {
  const all = await processes();
  const owned = descendants(new Set([...scene.parts.values()].map((part) => part.pid)), all);
  const found: Leak[] = [];
  for (const { pid } of all) {
    if (owned.has(pid) || pid === process.pid) continue;
    const program = await readlink(`/proc/${pid}/exe`).catch(() => "");
    if (!isOurs(program, scene.tools)) continue;
    const argv = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (!argv.some((word) => word.includes(`${scene.paths.root}/`))) continue;
    found.push({ kind: "process", name: String(pid), detail: argv.join(" ").trim().slice(0, 120), remove: () => kill(pid) });
  }
  return found;
}

/** criu (holders too), the host daemon, PostgreSQL. Not Node: a person's own script may mention the state directory. */
function isOurs(program: string, tools: string): boolean {
  return ["criu", "host", "guest", "postgres"].some((dir) => program.startsWith(`${join(tools, dir)}/`));
}

function descendants(roots: ReadonlySet<number>, all: readonly { pid: number; parent: number }[]): Set<number> {
  const owned = new Set(roots);
  for (let before = -1; before !== owned.size;) {
    before = owned.size;
    for (const { pid, parent } of all) if (owned.has(parent)) owned.add(pid);
  }
  return owned;
}
