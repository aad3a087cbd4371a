// SPDX-License-Identifier: Apache-2.0
/** Which isolation was really on, asked from inside a child and of the kernel about it: a quick fork of an open sandbox is no figure. */
import { readFile, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Laboratory } from "./laboratory.ts";

export type Isolation = Readonly<Record<string, boolean>>;

const NAMESPACES = ["user", "pid", "mnt", "uts", "ipc", "net", "cgroup"] as const;

/** Runs inside; the program that answers is any process of the sandbox, started by init like all others. */
export const INSIDE = `
import json, os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "seccomp": int(status["Seccomp"]), "no_new_privs": int(status["NoNewPrivs"]), "bounding": status["CapBnd"],
    "effective": status["CapEff"], "mounts": len(open("/proc/self/mountinfo").readlines()), "interfaces": sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else ["lo"],
    "namespaces": [os.readlink("/proc/self/ns/" + kind) for kind in ${JSON.stringify(NAMESPACES)}], "uid_base": int(open("/proc/self/uid_map").read().split()[1]),
}))
`;
export const insideSchema = z.object({
  seccomp: z.int(),
  no_new_privs: z.int(),
  bounding: z.string(),
  effective: z.string(),
  mounts: z.int(),
  interfaces: z.array(z.string()),
  namespaces: z.array(z.string()),
  uid_base: z.int(),
});
type Inside = z.infer<typeof insideSchema>;

const ALL_CAPABILITIES = /^0*[1-9a-f][0-9a-f]{9}$/; // 2^36 and more: nothing was taken away
const SECCOMP_FILTER = 2;

export async function isolationOf(laboratory: Laboratory, sandboxId: string, siblingId: string): Promise<Isolation> {
  const inside = insideSchema.parse(JSON.parse(await laboratory.run(sandboxId, { code: INSIDE })));
  const { registry } = laboratory.bare.engine;
  const [own, sibling] = [registry.live(sandboxId), registry.live(siblingId)];
  const [ours, theirs, host] = await Promise.all([namespacesOf(own.process.pid), namespacesOf(sibling.process.pid), namespacesOf("self")]);
  const [uid] = await uidMap(own.process.pid);
  const [siblingUid] = await uidMap(sibling.process.pid);
  return {
    user_ids_of_its_own: uid !== undefined && uid !== 0 && siblingUid !== undefined && uid !== siblingUid,
    ...separate(ours, theirs, host),
    ...confined(inside),
    ...(await limitsOf(own.slot.group.procsFiles().map((file) => dirname(file)))),
  };
}

/** By what two sandboxes say of themselves, where nobody knows their processes: without the limits, which are hidden from them. */
export async function isolationToldBy(own: Inside, sibling: Inside): Promise<Isolation> {
  return {
    user_ids_of_its_own: own.uid_base !== 0 && own.uid_base !== sibling.uid_base,
    ...separate(own.namespaces, sibling.namespaces, await namespacesOf("self")),
    ...confined(own),
  };
}

function separate(ours: readonly string[], theirs: readonly string[], host: readonly string[]): Isolation {
  return Object.fromEntries(NAMESPACES.map((kind, at) => [`namespace_${kind}`, ours[at] !== host[at] && ours[at] !== theirs[at]]));
}

function confined(inside: Inside): Isolation {
  return {
    capabilities_cut: !ALL_CAPABILITIES.test(inside.bounding) && !ALL_CAPABILITIES.test(inside.effective),
    no_new_privileges: inside.no_new_privs === 1,
    seccomp_filter: inside.seccomp === SECCOMP_FILTER,
    loopback_only: inside.interfaces.every((name) => name === "lo"),
  };
}

async function namespacesOf(pid: number | "self"): Promise<string[]> {
  return Promise.all(NAMESPACES.map((kind) => readlink(`/proc/${pid}/ns/${kind}`)));
}

/** First id outside of each mapped range. */
async function uidMap(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/uid_map`, "utf8");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => Number(line.trim().split(/\s+/)[1]));
}

/** v1 and v2 names; a v1 group without a memory limit shows a number near 2^63. */
async function limitsOf(groups: readonly string[]): Promise<Isolation> {
  const first = async (names: readonly string[]): Promise<string> => {
    const texts = await Promise.all(groups.flatMap((group) => names.map((name) => readFile(join(group, name), "utf8").catch(() => ""))));
    return texts.find((text) => text !== "")?.trim() ?? "";
  };
  const [memory, pids, cpu] = await Promise.all([
    first(["memory.limit_in_bytes", "memory.max"]),
    first(["pids.max"]),
    first(["cpu.cfs_quota_us", "cpu.max"]),
  ]);
  return {
    limit_memory: Number(memory) > 0 && Number(memory) < 2 ** 50,
    limit_pids: Number(pids) > 0,
    limit_cpu: Number(cpu.split(" ")[0]) > 0,
  };
}
