// SPDX-License-Identifier: Apache-2.0

export type LeakKind = "process" | "mount" | "cgroup" | "namespace" | "interface" | "firewall" | "folder" | "row";

/** Something on the host that exists because of a sandbox which is no more. */
export interface Leak {
  kind: LeakKind;
  /** Names it for certain: a pid, a path, a row's id. */
  name: string;
  detail: string;
  /** Takes it away; missing when only the running platform can. */
  remove?: () => Promise<void>;
}

export function describe({ kind, name, detail }: Leak): string {
  return `${kind} ${name}${detail === "" ? "" : ` (${detail})`}`;
}
