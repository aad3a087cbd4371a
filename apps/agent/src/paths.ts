// SPDX-License-Identifier: Apache-2.0
/** Where the agent keeps things on disk. Everything is below one folder, so that a look at it shows all that is there. */
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";

export interface AgentPaths {
  readonly state: string;
  /** OCI layouts while they are being unpacked. */
  readonly layouts: string;
  /** Unpacked images by digest. */
  readonly rootfs: string;
  /** Device nodes and init: the layer between an image and its writable layers. */
  readonly guestLayer: string;
  /** Snapshots: manifest, writable layer and, where they outlive the agent, process images. */
  readonly snapshots: string;
  /** Process images that live only as long as a fork: on tmpfs. */
  readonly memory: string;
  /** Writable layers of live sandboxes. */
  readonly sandboxes: string;
  /** Mount points of slots, used only while a sandbox starts. */
  readonly slots: string;
  /** Files on their way into and out of sandboxes. */
  readonly transfers: string;
  /** Sockets and logs of holders and of the mechanism daemon. */
  readonly run: string;
}

export async function makePaths(state: string): Promise<AgentPaths> {
  const paths: AgentPaths = {
    state,
    layouts: join(state, "layouts"),
    rootfs: join(state, "rootfs"),
    guestLayer: join(state, "guest-layer"),
    snapshots: join(state, "snapshots"),
    memory: join(state, "memory"),
    sandboxes: join(state, "sandboxes"),
    slots: join(state, "slots"),
    transfers: join(state, "transfers"),
    run: join(state, "run"),
  };
  // Nobody but root looks into the rest. A booting or restored process, which is not root on the host, must reach its mount point.
  const OPEN = new Set([paths.state, paths.slots]);
  for (const path of Object.values({ ...paths })) {
    await mkdir(path, { recursive: true });
    await chmod(path, OPEN.has(path) ? 0o711 : 0o700);
  }
  return paths;
}
