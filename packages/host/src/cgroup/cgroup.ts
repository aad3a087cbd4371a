// SPDX-License-Identifier: Apache-2.0

/** Limits of one sandbox; what is left out stays as it is (unlimited in a new group). */
export interface CgroupLimits {
  /** Memory and swap together, page tables included. */
  memoryBytes?: number;
  /** Threads count as pids. */
  pids?: number;
  /** CPU time per wall time: 0.5 is half a core. At least 0.01. */
  vcpus?: number;
  /** A list as `0-1,3`. Needs the cpuset controller. */
  cpus?: string;
}

export interface CgroupUsage {
  cpuMicroseconds: number;
  memoryBytes: number;
  memoryPeakBytes: number;
  pids: number;
  /** Processes of this group killed because its memory was full. */
  oomKills: number;
  /** Forks refused because of the pids limit. */
  forksRefused: number;
}

/** The control group of one sandbox (one directory in v2, one per controller in v1). */
export interface Cgroup {
  readonly name: string;
  /** A process writes "0" into each to enter: `boot` and holders take these. */
  procsFiles(): string[];
  /** The directory that `criu dump --freeze-cgroup` wants. */
  freezeDirectory(): string;
  limit(limits: CgroupLimits): Promise<void>;
  /** Resolves once every task stands still. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** SIGKILL to every process in it, also to those being forked meanwhile; resolves when it is empty. */
  killAll(): Promise<void>;
  usage(): Promise<CgroupUsage>;
  /** pids of the processes in it, in the host's view. */
  processes(): Promise<number[]>;
  /** Removes it; processes must have ended or be about to. Repeatable. */
  remove(): Promise<void>;
}

/** Bounds of what the kernel does on its own time. */
export const FREEZE_DEADLINE_MS = 5_000;
export const KILL_DEADLINE_MS = 10_000;
export const REMOVE_DEADLINE_MS = 5_000;

/** 100 ms, the kernel's default period. */
export const CPU_PERIOD_US = 100_000;

export function cpuQuotaMicroseconds(vcpus: number): number {
  return Math.max(1_000, Math.round(vcpus * CPU_PERIOD_US)); // the kernel refuses a quota below 1 ms
}
