// SPDX-License-Identifier: Apache-2.0
/** N children of a live sandbox: all or none. */
import { CollimateError } from "@collimate/contracts";
import type { ForkSandbox } from "@collimate/contracts";
import type { Operation, Sandbox } from "@collimate/db";
import { begin } from "../operation/begin.ts";
import { settle } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import type { Idempotency } from "../operation/idempotency.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { ensureRunning } from "./ensure-running.ts";
import { admit, checkForkCount } from "./quota.ts";
import { checkLists, newChild } from "./settings.ts";

const DEADLINE_MS = 900_000;

export interface Forked {
  readonly operation: Operation;
  readonly parentId: string;
  /** By position. */
  readonly children: readonly Sandbox[];
  readonly forkTimeMs: number;
  readonly pauseMs: number;
}

export async function forkSandbox(
  platform: Platform,
  caller: Caller,
  id: string,
  body: ForkSandbox,
  idempotency: Idempotency | null,
  hold: Hold,
): Promise<Forked> {
  checkForkCount(caller.tier, body.count);
  checkLists(body);
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  const operation = await begin(platform, caller, idempotency, async () => {
    const parent = await ensureRunning(platform, caller, id, hold);
    return async (tx, groupId) => {
      await admit(tx, caller.tier, body.count);
      const rows = Array.from({ length: body.count }, (_, ordinal) => newChild(parent, body, ordinal, groupId));
      await tx.insertSandboxes(rows);
      return {
        kind: "fork",
        templateId: parent.templateId,
        sandboxIds: rows.map((row) => row.id),
        request: { parentId: parent.id },
        deadlineMs: DEADLINE_MS,
        leased: true,
      };
    };
  });
  const result = await settle(platform, operation, hold);
  if (result?.kind !== "fork") throw new CollimateError("internal", `operation ${operation.id} ended without children`);
  const children = await scope.sandboxesById(operation.sandboxIds);
  const gone = children.filter((child) => child.state === "deleted").length + body.count - children.length;
  if (gone > 0)
    throw new CollimateError("session_gone", `${gone} of the ${body.count} children of group ${operation.id} were deleted meanwhile`);
  return { operation, parentId: result.parentId, children, forkTimeMs: result.forkTimeMs, pauseMs: result.pauseMs };
}
