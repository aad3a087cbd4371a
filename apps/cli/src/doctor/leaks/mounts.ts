// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import type { Leak } from "./leak.ts";
import { processes } from "./scene.ts";
import type { Scene } from "./scene.ts";

/** Mounts below the state directory, in every mount namespace that a process of the host is in. */
export async function leakedMounts(scene: Scene): Promise<Leak[]> {
  const host = await readlink("/proc/self/ns/mnt");
  const found: Leak[] = [];
  for (const [namespace, pid] of await mountNamespaces()) {
    const mine = namespace === host;
    for (const point of await mountPoints(pid, `${scene.paths.agent}/`)) {
      if (!mine && isExpected(point, scene)) continue;
      const where = mine ? "on the host" : `in the mount namespace of pid ${pid}`;
      found.push({ kind: "mount", name: point, detail: where, remove: () => unmount(point, mine ? undefined : pid) });
    }
  }
  // The last mounted first: one may lie on another.
  return found.toReversed();
}

/** The running agent keeps one mount, for process images, and may be in the middle of a sandbox's start. */
function isExpected(point: string, scene: Scene): boolean {
  if (scene.agent === undefined) return false;
  return point === `${scene.paths.agent}/memory` || scene.agent.sandboxes > 0;
}

/** One process of each mount namespace. */
async function mountNamespaces(): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const { pid } of await processes()) {
    const namespace = await readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
    if (namespace !== undefined && !found.has(namespace)) found.set(namespace, pid);
  }
  return found;
}

async function mountPoints(pid: number, below: string): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    // Spaces and the like are written as octal escapes, proc(5).
    const point = line.split(" ")[4]?.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
    return point?.startsWith(below) === true ? [point] : [];
  });
}

async function unmount(point: string, pid: number | undefined): Promise<void> {
  const undo = ["/bin/umount", "--lazy", "--", point] as const;
  const argv = pid === undefined ? undo : (["/usr/bin/nsenter", "--mount", "--target", String(pid), "--", ...undo] as const);
  await promisify(execFile)(argv[0], argv.slice(1), { timeout: 10_000 });
}
