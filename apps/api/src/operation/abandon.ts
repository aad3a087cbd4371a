// SPDX-License-Identifier: Apache-2.0
/** Undoing a create or fork that nobody waits for any more. */
import { CollimateError } from "@collimate/contracts";
import type { Operation } from "@collimate/db";
import type { Platform } from "../server/platform.ts";
import { TenantScope } from "../tenant/scope.ts";
import { announce } from "./begin.ts";
import { newDeletion } from "./deletion.ts";
import { retryConflict } from "./retry-conflict.ts";

const REASON = new CollimateError("at_capacity", "nobody waited for it any more").toFailure();

/** Whatever point the operation has reached: nothing of what it makes is left. Safe to repeat. */
export async function abandon(platform: Platform, operation: Operation): Promise<void> {
  const deletionId = await retryConflict(() => platform.database.client.$transaction(async (tx) => {
    const scope = new TenantScope(tx, operation.tenantId);
    const cancelled = await scope.updateOperation({ id: operation.id, state: "queued" }, { state: "failed", failure: REASON, endedAt: new Date(), waiterUntil: null, version: { increment: 1 } });
    if (!cancelled) await scope.updateOperation({ id: operation.id }, { waiterUntil: null });
    return newDeletion(scope, await scope.sandboxesById(operation.sandboxIds));
  }));
  if (deletionId !== null) await announce(platform, deletionId);
  platform.log.info({ operationId: operation.id, deletionId }, "an operation was abandoned by its caller");
}
