// SPDX-License-Identifier: Apache-2.0
/** Suspend, resume, delete. */
import { CollimateError } from "@collimate/contracts";
import type { Operation, Sandbox } from "@collimate/db";
import { announce, begin } from "../operation/begin.ts";
import { newDeletion } from "../operation/deletion.ts";
import { settle } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import { retryConflict } from "../operation/retry-conflict.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { awaitQuiet } from "./await-quiet.ts";

const DEADLINE_MS = 600_000;
/** How long DELETE waits for the node to say that it is gone. It will be, in any case: adapters give up after 60 s. */
export const DELETE_HOLD_MS = 30_000;

type Change = "suspend" | "resume";
const DONE: Readonly<Record<Change, string>> = { suspend: "suspended", resume: "running" };

/** Repeatable: a sandbox that is already there is left alone. */
export async function changeState(platform: Platform, caller: Caller, id: string, change: Change, hold: Hold): Promise<Sandbox> {
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  return retryConflict(async () => {
    const sandbox = await awaitQuiet(platform, scope, id, hold);
    if (sandbox.state === DONE[change]) return sandbox;
    const operation = await begin(platform, caller, null, async () => async (tx) => {
      await tx.moveSandbox(sandbox, change);
      return { kind: change, templateId: sandbox.templateId, sandboxIds: [id], request: {}, deadlineMs: DEADLINE_MS, leased: false };
    });
    await settle(platform, operation, hold);
    return scope.sandbox(id);
  });
}

export interface Deleted {
  readonly deleted: true;
  readonly id: string;
  /** `deleting` when the node has not confirmed yet. */
  readonly state: "deleted" | "deleting";
}

/** Durable when it returns; the node does its part in its own time. A deleted sandbox is not found, one that is being deleted is left to that. */
export async function beginDelete(platform: Platform, caller: Caller, id: string): Promise<void> {
  const { operationId, cancelledId } = await retryConflict(() =>
    platform.database.client.$transaction(async (tx) => {
      const scope = new TenantScope(tx, caller.tenantId);
      const sandbox = await scope.sandbox(id);
      if (sandbox.state === "deleting") return { operationId: null, cancelledId: null };
      const cancelled = sandbox.nodeId === null ? await cancelCreation(scope, sandbox) : null;
      return { operationId: await newDeletion(scope, [sandbox]), cancelledId: cancelled };
    }),
  );
  if (cancelledId !== null) await platform.bus.publishOperation(cancelledId, { state: "failed", failure: CANCELLED });
  if (operationId !== null) await announce(platform, operationId);
}

export async function deleteSandbox(platform: Platform, caller: Caller, id: string, hold: Hold): Promise<Deleted> {
  await beginDelete(platform, caller, id);
  const operation = await new TenantScope(platform.database.client, caller.tenantId).openOperationOn(id);
  if (operation?.kind !== "delete") return { deleted: true, id, state: "deleted" };
  return { deleted: true, id, state: await waitDeleted(platform, operation, hold) };
}

async function waitDeleted(platform: Platform, operation: Operation, hold: Hold): Promise<"deleted" | "deleting"> {
  const patience = AbortSignal.any([hold.patience, AbortSignal.timeout(DELETE_HOLD_MS)]);
  try {
    await settle(platform, operation, { gone: hold.gone, patience });
    return "deleted";
  } catch (error) {
    // It stays wanted whatever the node answered: the scheduler repeats it.
    platform.log.warn({ err: error, operationId: operation.id }, "a deletion is not confirmed yet");
    return "deleting";
  }
}

const CANCELLED = new CollimateError("session_gone", "it was deleted before it was placed").toFailure();

/** No node has heard of it: its create ends here. A fork group is all or none, so one unborn child is not deleted alone. */
async function cancelCreation(scope: TenantScope, sandbox: Sandbox): Promise<string | null> {
  const making = await scope.openOperationOn(sandbox.id);
  if (!making) return null;
  if (making.kind === "fork")
    throw new CollimateError(
      "conflict",
      `sandbox ${sandbox.id} is being made as one of group ${making.id}; delete it when the fork has ended`,
    );
  const cancelled = await scope.updateOperation(
    { id: making.id, state: "queued" },
    { state: "failed", failure: CANCELLED, endedAt: new Date(), version: { increment: 1 } },
  );
  if (!cancelled) throw new CollimateError("conflict", `sandbox ${sandbox.id} is being placed; read it again`);
  return making.id;
}
