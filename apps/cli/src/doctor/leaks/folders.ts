// SPDX-License-Identifier: Apache-2.0
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Leak } from "./leak.ts";
import { undeletedSnapshots } from "./rows.ts";
import type { Scene } from "./scene.ts";

/** Writable layers and process images that belong to no sandbox and no snapshot. */
export async function leakedFolders(scene: Scene): Promise<Leak[]> {
  if (scene.agent === undefined)
    return [...(await below(scene, scene.paths.agent, "sandboxes")), ...(await below(scene, scene.paths.agent, "memory"))];
  if (scene.agent.sandboxes > 0) return []; // which belongs to which is the agent's knowledge
  // Seen through the agent, since the tmpfs with process images is mounted in its namespace only.
  const agentView = join("/proc", String(scene.agent.pid), "root", scene.paths.agent);
  const kept = await undeletedSnapshots(scene);
  const images = (await below(scene, agentView, "memory")).filter(
    ({ name }) => kept !== undefined && ![...kept].some((id) => name.includes(id)),
  );
  return [...(await below(scene, agentView, "sandboxes")), ...images];
}

async function below(scene: Scene, base: string, folder: string): Promise<Leak[]> {
  const names = await readdir(join(base, folder)).catch(() => []);
  return names.map((name) => {
    const path = join(base, folder, name);
    const removal = scene.agent === undefined ? { remove: () => rm(path, { recursive: true, force: true }) } : {};
    return { kind: "folder", name: path, detail: "", ...removal };
  });
}
