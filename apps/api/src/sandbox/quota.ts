// SPDX-License-Identifier: Apache-2.0
/** What a tier may have alive, and make in one call. */
import { CollimateError, TIER_LIMITS } from "@collimate/contracts";
import type { Tier } from "@collimate/contracts";
import type { TenantScope } from "../tenant/scope.ts";

/** Within the transaction that then inserts them; holds the tenant's lock, so that two requests cannot both take the last place. */
export async function admit(scope: TenantScope, tier: Tier, more: number): Promise<void> {
  await scope.lock();
  const limit = TIER_LIMITS[tier].liveSandboxes;
  const live = await scope.liveSandboxCount();
  if (live + more <= limit) return;
  const message = `${live} sandboxes are live and ${more} more would exceed the ${limit} of the ${tier} tier; delete some first`;
  throw new CollimateError(tier === "demo" ? "demo_tier_limit" : "quota_exceeded", message);
}

export function checkForkCount(tier: Tier, count: number): void {
  const limit = TIER_LIMITS[tier].forkPerCall;
  if (count > limit)
    throw new CollimateError("bad_request", `count: the ${tier} tier forks at most ${limit} children in one call, ${count} were asked for`);
}
