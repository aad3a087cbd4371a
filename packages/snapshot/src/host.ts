// SPDX-License-Identifier: Apache-2.0
/** Whether a snapshot can be restored on a host. */
import { readFile } from "node:fs/promises";
import { arch, release } from "node:os";
import { CollimateError } from "@collimate/contracts";
import type { Manifest } from "./manifest.ts";

/** What a restore depends on. */
export type HostFacts = Pick<Manifest, "kernel" | "criu" | "arch" | "cpuFeatures">;
/** A node, with the builds of the guest layer that it has. */
export type NodeFacts = HostFacts & { readonly guests: readonly string[] };

export async function readHostFacts(criu: string): Promise<HostFacts> {
  return { kernel: release(), criu, arch: arch(), cpuFeatures: await readCpuFeatures() };
}

async function readCpuFeatures(): Promise<string[]> {
  const flags = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(await readFile("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  return flags.split(" ").filter(Boolean).toSorted();
}

/** What stands against a restore, in words; empty when nothing does. */
export function obstacles(snapshot: Manifest, host: NodeFacts): string[] {
  const missing = snapshot.cpuFeatures.filter((feature) => !host.cpuFeatures.includes(feature));
  return [
    ...(snapshot.arch === host.arch ? [] : [`it was taken on ${snapshot.arch}, this node is ${host.arch}`]),
    ...(snapshot.kernel === host.kernel ? [] : [`it was taken under kernel ${snapshot.kernel}, this node runs ${host.kernel}`]),
    ...(snapshot.criu === host.criu ? [] : [`it was written by criu ${snapshot.criu}, this node has ${host.criu}`]),
    ...(host.guests.includes(snapshot.guest) ? [] : [`its init is of build ${snapshot.guest}, which this node does not have`]),
    ...(missing.length === 0 ? [] : [`this node's processor lacks ${missing.slice(0, 8).join(", ")}`]),
  ];
}

export function insistOnCompatible(snapshot: Manifest, host: NodeFacts): void {
  const found = obstacles(snapshot, host);
  if (found.length > 0)
    throw new CollimateError("snapshot_incompatible", `snapshot ${snapshot.id} cannot be restored here: ${found.join("; ")}`);
}
