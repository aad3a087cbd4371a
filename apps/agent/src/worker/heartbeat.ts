// SPDX-License-Identifier: Apache-2.0
/** Tells the scheduler, every few seconds, what room this node has and what lives on it. */
import { createHash, randomUUID } from "node:crypto";
import { readFile, statfs } from "node:fs/promises";
import { arch, cpus, release } from "node:os";
import type { Heartbeat } from "@collimate/contracts";
import type { Engine } from "../engine.ts";
import { readMemory } from "../room.ts";
import { isLocal, isPlatforms } from "../sandbox/owner.ts";

const MIB = 2 ** 20;

export interface HeartbeatFacts {
  readonly nodeId: string;
  readonly url: string;
  readonly criu: string;
  readonly cgroup: "v1" | "v2";
  readonly reserveMib: number;
  readonly stateFolder: string;
}

export class HeartbeatMaker {
  readonly #engine: Engine;
  readonly #facts: HeartbeatFacts;
  readonly #startId = randomUUID();
  #bootId = "";

  constructor(engine: Engine, facts: HeartbeatFacts) {
    this.#engine = engine;
    this.#facts = facts;
  }

  async make(draining: boolean): Promise<Heartbeat> {
    this.#bootId ||= (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    const memory = await readMemory();
    const live = this.#engine.registry.all();
    const disk = await statfs(this.#facts.stateFolder);
    return {
      kind: "heartbeat",
      nodeId: this.#facts.nodeId,
      at: Date.now(),
      bootId: this.#bootId,
      startId: this.#startId,
      url: this.#facts.url,
      draining,
      room: {
        memoryTotalMib: Math.floor(memory.total / MIB),
        memoryFreeMib: Math.max(0, Math.floor(memory.available / MIB) - this.#facts.reserveMib),
        slotsTotal: this.#engine.slots.used + this.#engine.slots.free,
        slotsFree: this.#engine.slots.free,
        vcpus: cpus().length,
        diskFreeMib: Math.floor((disk.bavail * disk.bsize) / MIB),
      },
      facts: {
        kernel: release(),
        criu: this.#facts.criu,
        arch: arch(),
        cgroup: this.#facts.cgroup,
        cpuFeaturesHash: await cpuFeaturesHash(),
      },
      snapshots: this.#engine.templatesHere(),
      sandboxes: live.filter(isPlatforms).map((sandbox) => sandbox.id),
      localSandboxes: live.filter(isLocal).map((sandbox) => sandbox.id),
    };
  }
}

/** Restores go only to processors with the same features: a program may have chosen its code by them. */
async function cpuFeaturesHash(): Promise<string> {
  const flags = /^flags\s*:\s*(.*)$/m.exec(await readFile("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  return createHash("sha256").update(flags).digest("hex").slice(0, 16);
}
