// SPDX-License-Identifier: Apache-2.0
import { number, record } from "./json.ts";
import type { Resources } from "./wire.generated.ts";

export function readResources(value: unknown): Resources {
  const json = record(value);
  return {
    vcpus: number(json, "vcpus", 0),
    memory_mib: number(json, "memory_mib", 0),
    disk_mib: number(json, "disk_mib", 0),
    pids: number(json, "pids", 0),
  };
}
