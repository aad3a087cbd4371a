// SPDX-License-Identifier: Apache-2.0
/** A prepared place for a sandbox: all that costs time and does not depend on which sandbox will live there. */
import type { Cgroup, CgroupLimits } from "@collimate/host";

export interface Slot {
  readonly index: number;
  /** Ids 0..65535 inside are BASE..BASE+65535 on the host; no two slots share any. */
  readonly uidBase: number;
  /** Mount point of its root file system while it starts. */
  readonly root: string;
  /** A writable layer that nobody has written to (`upper`, `work`), taken by whoever comes to live here. */
  readonly fresh: string;
  readonly group: Cgroup;
  /** What `group` is limited to. */
  limits: CgroupLimits;
}

export const IDS_PER_SLOT = 65_536;
/** The first 16 ranges are left to the host and to whatever else uses subordinate ids there. */
const FIRST_RANGE = 16;

export const uidBase = (index: number): number => (FIRST_RANGE + index) * IDS_PER_SLOT;
