// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";

import {
  CPU_PERIOD_US,
  cpuQuotaMicroseconds,
  FREEZE_DEADLINE_MS,
  KILL_DEADLINE_MS,
  type Cgroup,
  type CgroupLimits,
  type CgroupUsage,
} from "./cgroup.ts";
import { controlNumber, keyedNumbers, readControl, readControlIfThere, writeControl, writeControlIfThere } from "./control-file.ts";
import { makeDirectory, processesIn, removeDirectory } from "./directory.ts";
import { until } from "./poll.ts";

/** cgroups(7), version 2 (Documentation/admin-guide/cgroup-v2.rst): one directory for everything. */
export class CgroupV2 implements Cgroup {
  readonly name: string;
  readonly #directory: string;

  constructor(parent: string, name: string) {
    this.name = name;
    this.#directory = join(parent, name);
  }

  async make(): Promise<void> {
    await makeDirectory(this.#directory);
  }

  procsFiles(): string[] {
    return [this.#file("cgroup.procs")];
  }

  freezeDirectory(): string {
    return this.#directory;
  }

  async limit(limits: CgroupLimits): Promise<void> {
    if (limits.memoryBytes !== undefined) {
      await writeControl(this.#file("memory.max"), String(limits.memoryBytes));
      await writeControlIfThere(this.#file("memory.swap.max"), "0"); // absent without swap accounting
    }
    if (limits.pids !== undefined) await writeControl(this.#file("pids.max"), String(limits.pids));
    if (limits.vcpus !== undefined) {
      await writeControl(this.#file("cpu.max"), `${cpuQuotaMicroseconds(limits.vcpus)} ${CPU_PERIOD_US}`);
      await writeControl(this.#file("cpu.weight"), String(Math.min(10_000, Math.max(1, Math.round(limits.vcpus * 100)))));
    }
    if (limits.cpus !== undefined) await writeControl(this.#file("cpuset.cpus"), limits.cpus);
  }

  async freeze(): Promise<void> {
    await writeControl(this.#file("cgroup.freeze"), "1");
    try {
      const attempt = async () => keyedNumbers(await readControl(this.#file("cgroup.events"))).get("frozen") === 1;
      await until(attempt, FREEZE_DEADLINE_MS, `freeze of control group ${this.name}`);
    } catch (error) {
      await this.thaw();
      throw error;
    }
  }

  async thaw(): Promise<void> {
    await writeControl(this.#file("cgroup.freeze"), "0");
  }

  async killAll(): Promise<void> {
    await writeControl(this.#file("cgroup.kill"), "1"); // frozen or not, and forks cannot escape it
    const attempt = async () => keyedNumbers(await readControl(this.#file("cgroup.events"))).get("populated") === 0;
    await until(attempt, KILL_DEADLINE_MS, `kill of control group ${this.name}`);
  }

  async usage(): Promise<CgroupUsage> {
    const [cpu, bytes, peak, count, memoryEvents, pidsEvents] = await Promise.all([
      readControlIfThere(this.#file("cpu.stat")),
      readControl(this.#file("memory.current")),
      readControlIfThere(this.#file("memory.peak")), // Linux 5.19
      readControl(this.#file("pids.current")),
      readControl(this.#file("memory.events")),
      readControl(this.#file("pids.events")),
    ]);
    return {
      cpuMicroseconds: keyedNumbers(cpu ?? "").get("usage_usec") ?? 0,
      memoryBytes: controlNumber(bytes),
      memoryPeakBytes: controlNumber(peak ?? bytes),
      pids: controlNumber(count),
      oomKills: keyedNumbers(memoryEvents).get("oom_kill") ?? 0,
      forksRefused: keyedNumbers(pidsEvents).get("max") ?? 0,
    };
  }

  async processes(): Promise<number[]> {
    return processesIn(this.#directory);
  }

  async remove(): Promise<void> {
    await removeDirectory(this.#directory);
  }

  #file(name: string): string {
    return join(this.#directory, name);
  }
}
