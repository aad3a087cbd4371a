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

/**
 * Whatever point the operation has reached, nothing of what it makes is left. Queued: it ends here. Done: what it made is
 * deleted. On a node: it is let finish first, and its lapsed lease has the scheduler delete what came of it. Safe to repeat.
 */
export async function abandon(platform: Platform, operation: Operation): Promise<void> {
  const deletionId = await retryConflict(() =>
    platform.database.client.$transaction(async (tx) => {
      const scope = new TenantScope(tx, operation.tenantId);
      const row = await scope.lockOperation(operation.id);
      if (!row || row.state === "failed") return null;
      if (row.state === "assigned") {
        await scope.updateOperation({ id: row.id }, { waiterUntil: new Date() });
        return null;
      }
      const cancelled = row.state === "queued" ? { state: "failed", failure: REASON, endedAt: new Date() } : {};
      await scope.updateOperation({ id: row.id }, { ...cancelled, waiterUntil: null, version: { increment: 1 } });
      return newDeletion(scope, await scope.sandboxesById(operation.sandboxIds));
    }),
  );
  if (deletionId !== null) await announce(platform, deletionId);
  platform.log.info({ operationId: operation.id, deletionId }, "an operation was abandoned by its caller");
}
