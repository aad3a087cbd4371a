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
import {
  CgroupError,
  controlNumber,
  keyedNumbers,
  readControl,
  readControlIfThere,
  writeControl,
  writeControlIfThere,
} from "./control-file.ts";
import { makeDirectory, processesIn, removeDirectory } from "./directory.ts";
import type { Controller } from "./layout.ts";
import { until } from "./poll.ts";

/** cgroups(7), version 1: one directory of the same name below each controller's mount. */
export class CgroupV1 implements Cgroup {
  readonly name: string;
  readonly #directories: ReadonlyMap<Controller, string>;

  private constructor(name: string, directories: ReadonlyMap<Controller, string>) {
    this.name = name;
    this.#directories = directories;
  }

  /** A handle; nothing is made. `parents` are the node's directories by controller. */
  static at(parents: ReadonlyMap<Controller, string>, name: string): CgroupV1 {
    // cpu and cpuacct may share a mount: one directory then.
    return new CgroupV1(name, new Map([...parents].map(([controller, parent]) => [controller, join(parent, name)])));
  }

  async make(): Promise<void> {
    for (const directory of this.#unique()) await makeDirectory(directory);
    const cpuset = this.#directories.get("cpuset");
    // A new v1 cpuset is empty and takes no task until it has cpus and memory nodes.
    if (cpuset) await inheritCpuset(cpuset);
  }

  procsFiles(): string[] {
    return this.#unique().map((directory) => join(directory, "cgroup.procs"));
  }

  freezeDirectory(): string {
    return this.#of("freezer");
  }

  async limit(limits: CgroupLimits): Promise<void> {
    if (limits.memoryBytes !== undefined) await this.#limitMemory(limits.memoryBytes);
    if (limits.pids !== undefined) await writeControl(join(this.#of("pids"), "pids.max"), String(limits.pids));
    if (limits.vcpus !== undefined) {
      const cpu = this.#of("cpu");
      await writeControl(join(cpu, "cpu.cfs_period_us"), String(CPU_PERIOD_US));
      await writeControl(join(cpu, "cpu.cfs_quota_us"), String(cpuQuotaMicroseconds(limits.vcpus)));
      await writeControl(join(cpu, "cpu.shares"), String(Math.max(2, Math.round(limits.vcpus * 1024))));
    }
    if (limits.cpus !== undefined) await writeControl(join(this.#of("cpuset"), "cpuset.cpus"), limits.cpus);
  }

  async freeze(): Promise<void> {
    const state = join(this.#of("freezer"), "freezer.state");
    // Written anew each time: a task forked while freezing is caught by the next write (freezer-subsystem.rst).
    const attempt = async () => {
      await writeControl(state, "FROZEN");
      return (await readControl(state)) === "FROZEN";
    };
    try {
      await until(attempt, FREEZE_DEADLINE_MS, `freeze of control group ${this.name}`);
    } catch (error) {
      await this.thaw();
      throw error;
    }
  }

  async thaw(): Promise<void> {
    await writeControl(join(this.#of("freezer"), "freezer.state"), "THAWED");
  }

  async killAll(): Promise<void> {
    const attempt = async () => {
      if ((await this.processes()).length === 0) return true;
      // Frozen, no pid of the list can end and be used again, and none can fork past us. They die once thawed.
      await this.freeze();
      try {
        for (const pid of await this.processes()) signalKill(pid);
      } finally {
        await this.thaw();
      }
      return false;
    };
    await until(attempt, KILL_DEADLINE_MS, `kill of control group ${this.name}`);
  }

  async usage(): Promise<CgroupUsage> {
    const memory = this.#of("memory");
    const pids = this.#of("pids");
    const cpuacct = this.#directories.get("cpuacct");
    const [cpu, bytes, peak, count, oom, events] = await Promise.all([
      cpuacct ? readControl(join(cpuacct, "cpuacct.usage")) : "0",
      readControl(join(memory, "memory.usage_in_bytes")),
      readControl(join(memory, "memory.max_usage_in_bytes")),
      readControl(join(pids, "pids.current")),
      readControl(join(memory, "memory.oom_control")),
      readControlIfThere(join(pids, "pids.events")),
    ]);
    return {
      cpuMicroseconds: Math.floor(controlNumber(cpu) / 1000), // nanoseconds
      memoryBytes: controlNumber(bytes),
      memoryPeakBytes: controlNumber(peak),
      pids: controlNumber(count),
      oomKills: keyedNumbers(oom).get("oom_kill") ?? 0,
      forksRefused: keyedNumbers(events ?? "").get("max") ?? 0,
    };
  }

  async processes(): Promise<number[]> {
    return processesIn(this.#of("freezer"));
  }

  async remove(): Promise<void> {
    for (const directory of this.#unique()) await removeDirectory(directory);
  }

  #of(controller: Controller): string {
    const directory = this.#directories.get(controller);
    if (!directory) throw new CgroupError(`this host has no ${controller} controller`);
    return directory;
  }

  #unique(): string[] {
    return [...new Set(this.#directories.values())];
  }

  /** memory.memsw (memory + swap) can never be below memory.limit, so the order depends on the direction. */
  async #limitMemory(bytes: number): Promise<void> {
    const memory = join(this.#of("memory"), "memory.limit_in_bytes");
    const both = join(this.#of("memory"), "memory.memsw.limit_in_bytes");
    const raised = controlNumber((await readControlIfThere(both)) ?? "0") < bytes;
    if (raised) await writeControlIfThere(both, String(bytes));
    await writeControl(memory, String(bytes));
    if (!raised) await writeControlIfThere(both, String(bytes));
  }
}

async function inheritCpuset(directory: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    if ((await readControl(join(directory, file))) !== "") continue;
    const inherited = await readControl(join(directory, "..", file));
    await writeControl(join(directory, file), inherited);
  }
}

/** What a node's own directories need before sandboxes' can be below them. */
export async function makeParentV1(controller: Controller, directory: string): Promise<void> {
  await makeDirectory(directory);
  if (controller === "cpuset") await inheritCpuset(directory);
}

function signalKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return;
    throw error;
  }
}
