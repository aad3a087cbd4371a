// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { CgroupError, readControlIfThere } from "./control-file.ts";

/** The controllers that a sandbox group is limited by. `cpuset` is used only when a limit asks for it. */
export const controllers = ["memory", "pids", "cpu", "cpuacct", "freezer", "cpuset"] as const;
export type Controller = (typeof controllers)[number];

/** How this host mounts control groups. */
export type CgroupLayout =
  | { version: 1; mounts: ReadonlyMap<Controller, string> }
  | { version: 2; mount: string; available: ReadonlySet<string> };

interface Mount {
  type: string;
  path: string;
  options: string[];
}

/** Fields of /proc/PID/mountinfo as proc(5) describes them; octal escapes stand for spaces and the like. */
function parseMountinfo(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const path = before.split(" ")[4];
    const [type, , options = ""] = after.split(" ");
    if (!path || !type) return [];
    const plain = path.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
    return [{ type, path: plain, options: options.split(",") }];
  });
}

/**
 * A host with v1 controllers is v1, also when a v2 hierarchy without controllers is mounted beside them ("hybrid").
 * Rejects with what is missing when sandboxes could not be limited.
 */
export async function detectCgroups(mountinfo = "/proc/self/mountinfo"): Promise<CgroupLayout> {
  const mounts = parseMountinfo(await readFile(mountinfo, "utf8"));
  const v1 = new Map<Controller, string>();
  for (const mount of mounts.filter(({ type }) => type === "cgroup"))
    for (const controller of controllers) if (mount.options.includes(controller) && !v1.has(controller)) v1.set(controller, mount.path);
  if (v1.has("memory") || v1.has("pids")) {
    requireAll(["memory", "pids", "cpu", "freezer"].filter((name) => ![...v1.keys()].some((key) => key === name)));
    return { version: 1, mounts: v1 };
  }
  const unified = mounts.find(({ type }) => type === "cgroup2");
  if (!unified) throw new CgroupError("no control groups are mounted: mount cgroup2 at /sys/fs/cgroup");
  const listed = (await readControlIfThere(join(unified.path, "cgroup.controllers"))) ?? "";
  const available = new Set(listed.split(" ").filter(Boolean));
  requireAll(["memory", "pids", "cpu"].filter((name) => !available.has(name)));
  return { version: 2, mount: unified.path, available };
}

function requireAll(missing: string[]): void {
  if (missing.length > 0)
    throw new CgroupError(`control group controllers are missing: ${missing.join(", ")} (kernel command line, or delegation)`);
}
