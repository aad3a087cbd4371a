// SPDX-License-Identifier: Apache-2.0
import { CollimateError, type Egress, isUnrestricted } from "@collimate/contracts";

/** Whether a sandbox gets an interface: its snapshot had one, and its policy lets it. */
export function wantsNetwork(snapshotHasOne: boolean, egress: Egress | null): boolean {
  if (!snapshotHasOne || egress?.mode === "none") return false;
  // Half a policy would be worse than none.
  if (!isUnrestricted(egress)) throw new CollimateError("not_implemented", "egress: this node has no policies but open and none");
  return true;
}
