// SPDX-License-Identifier: Apache-2.0
import { detectCgroups } from "@collimate/host";
import { fail, ok } from "../finding.ts";
import type { Finding } from "../finding.ts";

export async function controlGroups(): Promise<Finding> {
  try {
    const { version } = await detectCgroups();
    return ok("control groups", `v${version}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail(
      "control groups",
      reason,
      "mount the controllers memory, pids, cpu (and freezer for v1), or boot with systemd.unified_cgroup_hierarchy=1",
    );
  }
}
