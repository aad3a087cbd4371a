// SPDX-License-Identifier: Apache-2.0
/**
 * Bake: image to template. Boot once, wait until it says that it is ready, checkpoint, end.
 * Every later sandbox of the template is a restore.
 */
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError, needsNetwork, newId, type NodeJobOf, type NodeResult } from "@collimate/contracts";
import type { Hostd } from "@collimate/host";
import type { Logger } from "@collimate/telemetry";
import { GuestLinks } from "../guest/links.ts";
import type { Holders } from "../holder/holders.ts";
import { guestLayerOf, INIT_PATH } from "../image/guest-layer.ts";
import { byDigest } from "../image/reference.ts";
import type { Rootfs, RootfsStore } from "../image/rootfs-store.ts";
import type { Network } from "../network/network.ts";
import { writeResolvConf } from "../network/resolver.ts";
import type { AgentPaths } from "../paths.ts";
import type { Ender } from "../sandbox/end.ts";
import type { SandboxRegistry } from "../sandbox/registry.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { INNER_ADDRESS, OVERLAY } from "../sandbox/start.ts";
import { ExclusiveTurns } from "../sandbox/turns.ts";
import { limitsOf } from "../slot/limits.ts";
import type { Slots } from "../slot/slots.ts";
import type { Artifacts } from "../snapshot/artifacts.ts";
import type { Budget } from "../snapshot/budget.ts";
import type { SnapshotStore } from "../snapshot/store.ts";
import type { SnapshotTaker } from "../snapshot/take.ts";
import { imageEnvironment, imageUser, imageWorkdir } from "./image-defaults.ts";
import { untilReady } from "./ready.ts";

type BakeJob = NodeJobOf<"bake">;
type BakeResult = Extract<NodeResult, { kind: "bake" }>;

export interface BakeParts {
  readonly paths: AgentPaths;
  readonly hostd: Hostd;
  readonly network: Network;
  readonly rootfs: RootfsStore;
  /** Build of the guest layer. */
  readonly guest: string;
  readonly slots: Slots;
  readonly registry: SandboxRegistry;
  readonly snapshots: SnapshotStore;
  readonly taker: SnapshotTaker;
  readonly artifacts: Artifacts;
  readonly budget: Budget;
  readonly holders: Holders;
  readonly ender: Ender;
  readonly log: Logger;
}

export class Baker {
  readonly #parts: BakeParts;

  constructor(parts: BakeParts) {
    this.#parts = parts;
  }

  async bake(job: BakeJob, phase: (phase: "Converting" | "Distributing") => Promise<void>): Promise<BakeResult> {
    const { snapshots, holders } = this.#parts;
    if (snapshots.has(job.snapshotId)) return this.#result(job, "inherited_artifact");
    await this.#parts.budget.makeRoom(0);
    await phase("Converting");
    const rootfs = await this.#parts.rootfs.ensure(job.image);
    const sandbox = await this.#boot(job, rootfs);
    try {
      await untilReady(sandbox, job.ready);
      await phase("Distributing");
      // The checkpoint ends it: that end is asked for.
      sandbox.ending = true;
      const { snapshot } = await sandbox.links.whileDetached(() =>
        this.#parts.taker.take({ id: job.snapshotId, kind: "template", sandbox, base: undefined, leaveRunning: false }),
      );
      try {
        await holders.ensure(snapshot);
        await this.#parts.artifacts.keep(snapshot);
      } catch (error) {
        await snapshots.release(job.snapshotId);
        throw error;
      }
      return await this.#result(job, "built");
    } finally {
      await this.#parts.ender.end(sandbox);
    }
  }

  async #result(job: BakeJob, bakeMode: "built" | "inherited_artifact"): Promise<BakeResult> {
    const { manifest } = this.#parts.snapshots.get(job.snapshotId);
    return {
      kind: "bake",
      snapshotId: job.snapshotId,
      imageDigest: manifest.imageDigest,
      sizeBytes: manifest.privateBytes,
      privateBytes: manifest.privateBytes,
      bakeMode,
    };
  }

  async #boot(job: BakeJob, rootfs: Rootfs): Promise<Sandbox> {
    const { hostd, network, slots, paths, registry } = this.#parts;
    const host = hostd.client;
    const id = newId("sandbox");
    const networked = needsNetwork(job.ready);
    if (networked) await network.ready();
    const [slot] = await slots.take(1, limitsOf(job.resources));
    if (!slot) throw new CollimateError("at_capacity", "no slot");
    const folder = join(paths.sandboxes, id);
    await using undo = new AsyncDisposableStack();
    undo.defer(() => slots.give(slot));
    await rename(slot.fresh, folder);
    undo.defer(() => rm(folder, { recursive: true, force: true }));
    if (networked) await writeResolvConf(join(folder, "upper"));
    await host.mountOverlay({
      slot: slot.index,
      target: slot.root,
      lower: [guestLayerOf(paths.guestLayer, this.#parts.guest), rootfs.path],
      base: folder,
      ...OVERLAY,
    });
    const unmount = () => host.umount(slot.root);
    undo.defer(async () => void (await unmount()));
    const env = { ...imageEnvironment(rootfs.config), ...job.ready.env };
    undo.defer(() => slot.group.killAll());
    const process = await host.boot({
      slot: slot.index,
      root: slot.root,
      cgroups: slot.group.procsFiles(),
      argv: [INIT_PATH, "--harden"],
      env,
      addrs: [INNER_ADDRESS],
    });
    const cable = networked ? await network.attach(process) : undefined;
    undo.defer(async () => void (cable && (await network.detach(cable))));
    const watch = await host.watch(id, process);
    undo.defer(() => watch.stop());
    const links = new GuestLinks(hostd, process);
    const now = Date.now();
    const sandbox: Sandbox = {
      id,
      tenantId: job.tenantId,
      templateId: job.templateId,
      slot,
      process,
      watch,
      snapshotId: "",
      layers: [],
      image: byDigest(job.image, rootfs.digest),
      imageDigest: rootfs.digest,
      guest: this.#parts.guest,
      folder,
      workdir: imageWorkdir(rootfs.config),
      user: imageUser(rootfs.config),
      ports: job.ready.ports ?? [],
      cable,
      resources: job.resources,
      links,
      turns: new ExclusiveTurns(),
      startedAt: now,
      oomKillsSeen: 0,
      execCount: 0,
      execsRunning: 0,
      lastActiveAt: now,
      ending: false,
    };
    await links.untilUp();
    await unmount();
    undo.move();
    registry.add(sandbox);
    return sandbox;
  }
}
