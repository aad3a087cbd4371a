// SPDX-License-Identifier: Apache-2.0
import type { StatePaths } from "../state/paths.ts";
import { controlGroups } from "./checks/control-groups.ts";
import { criuTrial } from "./checks/criu.ts";
import { hostSettings } from "./checks/host-settings.ts";
import { checkpointing, hugePages, kernelVersion, namespaces } from "./checks/kernel.ts";
import { overlayOnMappedLayers } from "./checks/overlay.ts";
import { ports } from "./checks/ports.ts";
import { privileges } from "./checks/privileges.ts";
import { builtPrograms, distributionPrograms } from "./checks/programs.ts";
import { diskRoom, memoryRoom, sharedMemory } from "./checks/room.ts";
import { fail } from "./finding.ts";
import type { Check, Finding } from "./finding.ts";

/** Looks at all that a fork needs. A check that itself breaks is a finding, never an end of the examination. */
export async function examine(paths: StatePaths, tools: string): Promise<Finding[]> {
  const checks: Record<string, Check> = {
    privileges,
    kernel: kernelVersion,
    namespaces,
    checkpointing,
    "huge pages": hugePages,
    "control groups": controlGroups,
    memory: memoryRoom,
    disk: async () => [await diskRoom(paths.root), await diskRoom(tools)],
    "/dev/shm": sharedMemory,
    programs: distributionPrograms,
    "built programs": () => builtPrograms(tools),
    criu: () => criuTrial(tools),
    overlay: () => overlayOnMappedLayers(tools),
    ports: () => ports(paths),
    "host settings": hostSettings,
  };
  const found: Finding[] = [];
  for (const [name, check] of Object.entries(checks)) {
    const result = await check().catch((error: unknown) =>
      fail(name, `the check itself failed: ${error instanceof Error ? error.message : String(error)}`, "tell us"),
    );
    found.push(...(Array.isArray(result) ? result : [result]));
  }
  return found;
}
