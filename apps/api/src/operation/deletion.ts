// SPDX-License-Identifier: Apache-2.0
/** Deleting sandboxes: one operation for those that a node may know, and none for those that no node ever heard of. */
import { newId } from "@collimate/contracts";
import type { Sandbox } from "@collimate/db";
import type { TenantScope } from "../tenant/scope.ts";

/** The scheduler asks again for what is then still `deleting`. */
const DEADLINE_MS = 600_000;

/** Within the caller's transaction. Returns the operation to announce, or null when nothing is left to do on a node. */
export async function newDeletion(scope: TenantScope, sandboxes: readonly Sandbox[]): Promise<string | null> {
  const onNode: string[] = [];
  for (const sandbox of sandboxes) {
    if (sandbox.state === "deleted" || sandbox.state === "deleting") continue;
    await scope.moveSandbox(sandbox, "delete");
    const deleting: Sandbox = { ...sandbox, state: "deleting", version: sandbox.version + 1 };
    if (sandbox.nodeId === null) await scope.moveSandbox(deleting, "deleted", { endedAt: new Date() });
    else onNode.push(sandbox.id);
  }
  if (onNode.length === 0) return null;
  const id = newId("operation");
  await scope.insertOperation({ id, kind: "delete", sandboxIds: onNode, request: {}, deadlineAt: new Date(Date.now() + DEADLINE_MS) });
  return id;
}
