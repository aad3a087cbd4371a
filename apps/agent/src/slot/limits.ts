// SPDX-License-Identifier: Apache-2.0
import type { Resources } from "@collimate/contracts";
import type { CgroupLimits } from "@collimate/host";

export function sameLimits(one: CgroupLimits, other: CgroupLimits): boolean {
  return one.memoryBytes === other.memoryBytes && one.pids === other.pids && one.vcpus === other.vcpus && one.cpus === other.cpus;
}

export function limitsOf(resources: Resources): CgroupLimits {
  return { memoryBytes: resources.memory_mib * 2 ** 20, pids: resources.pids, vcpus: resources.vcpus };
}
