// SPDX-License-Identifier: Apache-2.0
/** Brings one sandbox to life from a snapshot: the one way, whether for a create, a fork's child or a resume. */
import { randomBytes } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError, type Egress, type Resources } from "@collimate/contracts";
import type { Holder } from "@collimate/criu";
import type { Hostd, HostClient } from "@collimate/host";
import type { AgentPaths } from "../paths.ts";
import { GuestLinks } from "../guest/links.ts";
import { wantsNetwork } from "../network/egress.ts";
import type { Network } from "../network/network.ts";
import type { Slot } from "../slot/slot.ts";
import type { Snapshot, SnapshotStore } from "../snapshot/store.ts";
import { guestLayerOf } from "../image/guest-layer.ts";
import type { RootfsStore } from "../image/rootfs-store.ts";
import { startTimeOf } from "./start-time.ts";
import { ExclusiveTurns } from "./turns.ts";
import type { Sandbox } from "./sandbox.ts";

/** Every sandbox has the same address inside: what tells them apart lies outside. */
export const INNER_ADDRESS = "10.0.0.2/32";
/** File handles of the root survive a checkpoint: inotify needs that. */
export const OVERLAY = { index: true, nfsExport: true } as const;
/** When the host runs out of memory a sandbox goes before a holder or a service. */
const OOM_SCORE = 500;
const RESTORE_LIMIT_MS = 60_000;

export interface StartRequest {
  readonly id: string;
  readonly tenantId: string;
  readonly resources: Resources;
  readonly egress: Egress | null;
  readonly snapshot: Snapshot;
  readonly holder: Holder;
  readonly slot: Slot;
}

export class Starter {
  readonly #paths: AgentPaths;
  readonly #host: HostClient;
  readonly #hostd: Hostd;
  readonly #snapshots: SnapshotStore;
  readonly #rootfs: RootfsStore;
  readonly #network: Network;

  constructor(paths: AgentPaths, hostd: Hostd, snapshots: SnapshotStore, rootfs: RootfsStore, network: Network) {
    this.#paths = paths;
    this.#host = hostd.client;
    this.#hostd = hostd;
    this.#snapshots = snapshots;
    this.#rootfs = rootfs;
    this.#network = network;
  }

  /** The lower layers of a sandbox on these snapshot layers, top to bottom. */
  async lowerFolders(layers: readonly string[], guest: string, imageDigest: string): Promise<string[]> {
    const rootfs = await this.#rootfs.find(imageDigest);
    if (!rootfs) throw new CollimateError("not_found", `the image ${imageDigest} is not on this node`);
    return [...layers.map((id) => join(this.#paths.snapshots, id, "upper")), guestLayerOf(this.#paths.guestLayer, guest), rootfs.path];
  }

  async start(request: StartRequest): Promise<Sandbox> {
    const { snapshot, slot, id } = request;
    const { manifest } = snapshot;
    const folder = join(this.#paths.sandboxes, id);
    const networked = wantsNetwork(manifest.network, request.egress);
    if (networked) await this.#network.ready();
    await using undo = new AsyncDisposableStack();

    this.#snapshots.retain(manifest.id);
    undo.defer(() => this.#snapshots.release(manifest.id));
    await rename(slot.fresh, folder);
    undo.defer(() => rm(folder, { recursive: true, force: true }));

    await this.#host.mountOverlay({
      slot: slot.index,
      target: slot.root,
      lower: await this.lowerFolders(manifest.layers, manifest.guest, manifest.imageDigest),
      base: folder,
      ...OVERLAY,
    });
    let mounted = true;
    const unmount = async () => {
      if (!mounted) return;
      mounted = false;
      await this.#host.umount(slot.root);
    };
    undo.defer(unmount);

    let cable: string | undefined;
    undo.defer(async () => void (cable && (await this.#network.detach(cable))));
    // Before sockets are restored: a UDP socket that is connected to the outside wants a route there.
    const attach = async (pid: number): Promise<void> => {
      cable = await this.#network.attach({ pid, startTime: startTimeOf(pid) });
    };
    // Before the restore: one that broke off may have left half a tree.
    undo.defer(() => slot.group.killAll());
    const restored = await request.holder.restore({
      root: slot.root,
      uidBase: slot.uidBase,
      cgroups: slot.group.procsFiles(),
      addresses: [INNER_ADDRESS],
      oomScoreAdj: OOM_SCORE,
      work: join(folder, "restore"),
      limitMs: RESTORE_LIMIT_MS,
      ...(networked ? { onNetworkNamespace: attach } : {}),
    });
    const process = { pid: restored.pid, startTime: startTimeOf(restored.pid) };
    const links = new GuestLinks(this.#hostd, process);
    // Side by side: none needs another. Inside the sandbox's own mount namespace the root lives on; here it is not needed any more.
    const [watched, ...others] = await Promise.allSettled([
      this.#host.watch(id, process),
      unmount(),
      links.identify({ hostname: id.replaceAll("_", "-").toLowerCase(), id, entropy: randomBytes(32) }),
    ]);
    if (watched.status === "rejected") throw watched.reason;
    const watch = watched.value;
    undo.defer(() => watch.stop());
    for (const other of others) if (other.status === "rejected") throw other.reason;
    undo.move();
    const now = Date.now();
    return {
      id,
      tenantId: request.tenantId,
      templateId: manifest.templateId,
      slot,
      process,
      watch,
      snapshotId: manifest.id,
      layers: manifest.layers,
      image: manifest.image,
      imageDigest: manifest.imageDigest,
      guest: manifest.guest,
      folder,
      workdir: manifest.workdir,
      user: manifest.user,
      ports: manifest.ports,
      cable,
      resources: request.resources,
      links,
      turns: new ExclusiveTurns(),
      startedAt: now,
      oomKillsSeen: 0,
      execCount: 0,
      execsRunning: 0,
      lastActiveAt: now,
      ending: false,
    };
  }
}
