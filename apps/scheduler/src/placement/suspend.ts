// SPDX-License-Identifier: Apache-2.0
import { newId } from "@collimate/contracts";
import { fail, failure } from "../operation/end.ts";
import { move, sandboxesOf } from "../sandbox/move.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./held.ts";
import { homeNode } from "./nodes.ts";
import { ENDED, NO_NODE, type Outcome } from "./outcome.ts";

/** On the sandbox's node; needs no room there. The snapshot gets its id here. */
export async function placeSuspend(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, effects, operation } = attempt;
  await move(tx, operation.sandboxIds, "suspend"); // unless the api has done so already
  const [sandbox] = await sandboxesOf(tx, operation.sandboxIds);
  if (sandbox?.state !== "suspending") {
    const code = sandbox === undefined || sandbox.state === "suspended" || sandbox.state === "resuming" ? "conflict" : "session_gone";
    await fail(ctx, tx, effects, operation, failure(code, `not possible: suspend while ${sandbox?.state ?? "unknown"}`));
    return ENDED;
  }
  const node = await homeNode(attempt, sandbox.nodeId, "winding up");
  if (!node) return NO_NODE;
  const snapshotId = newId("snapshot");
  await tx.snapshot.create({
    data: { id: snapshotId, tenantId: sandbox.tenantId, templateId: sandbox.templateId, kind: "suspend", createdAt: ctx.now() },
  });
  return assign(attempt, { nodeId: node.id, snapshotId });
}
