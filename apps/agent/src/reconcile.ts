// SPDX-License-Identifier: Apache-2.0
/** What an agent that ended badly may have left, found by name: nothing outlives this pass that nobody owns. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Cgroups } from "@collimate/host";
import type { Logger } from "@collimate/telemetry";
import type { RootfsStore } from "./image/rootfs-store.ts";
import type { AgentPaths } from "./paths.ts";
import type { SnapshotStore } from "./snapshot/store.ts";

/** Every process of ours lives in a group below `collimate/<node>`: sandboxes, holders, half-made restores. */
export async function reconcile(
  cgroups: Cgroups,
  paths: AgentPaths,
  snapshots: SnapshotStore,
  rootfs: RootfsStore,
  log: Logger,
): Promise<void> {
  const strays = await cgroups.list();
  for (const name of strays) {
    const group = cgroups.get(name);
    await group.killAll();
    await group.remove();
  }
  if (strays.length > 0) log.warn({ groups: strays.length }, "ended what an earlier agent had left");
  for (const folder of [paths.sandboxes, paths.slots, paths.transfers, paths.run]) {
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
  }
  await snapshots.load();
  await rootfs.sweep();
}
