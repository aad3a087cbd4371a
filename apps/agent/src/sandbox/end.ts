// SPDX-License-Identifier: Apache-2.0
/** Ends sandboxes and gives back all that they had. Killing init ends every process of its pid namespace; the cgroup catches the rest. */
import { rm } from "node:fs/promises";
import type { HostClient } from "@collimate/host";
import type { Network } from "../network/network.ts";
import type { Slots } from "../slot/slots.ts";
import type { SnapshotStore } from "../snapshot/store.ts";
import type { SandboxRegistry } from "./registry.ts";
import type { Sandbox } from "./sandbox.ts";

export class Ender {
  readonly #host: HostClient;
  readonly #network: Network;
  readonly #slots: Slots;
  readonly #snapshots: SnapshotStore;
  readonly #registry: SandboxRegistry;
  readonly #running = new Map<string, Promise<number>>();

  constructor(host: HostClient, network: Network, slots: Slots, snapshots: SnapshotStore, registry: SandboxRegistry) {
    this.#host = host;
    this.#network = network;
    this.#slots = slots;
    this.#snapshots = snapshots;
    this.#registry = registry;
  }

  /** Ends it, once however often asked; gives the moment (ms since 1970) at which its processes were gone. */
  end(sandbox: Sandbox): Promise<number> {
    const running = this.#running.get(sandbox.id);
    if (running) return running;
    const work = this.#end(sandbox).finally(() => this.#running.delete(sandbox.id));
    this.#running.set(sandbox.id, work);
    return work;
  }

  async #end(sandbox: Sandbox): Promise<number> {
    sandbox.ending = true;
    sandbox.links.close();
    await this.#host.kill(sandbox.process);
    await sandbox.slot.group.killAll();
    const endedAt = Date.now();
    if (sandbox.cable) await this.#network.detach(sandbox.cable);
    await sandbox.watch.stop();
    this.#registry.remove(sandbox.id);
    await this.#slots.give(sandbox.slot);
    await rm(sandbox.folder, { recursive: true, force: true });
    if (sandbox.snapshotId) await this.#snapshots.release(sandbox.snapshotId);
    return endedAt;
  }
}
