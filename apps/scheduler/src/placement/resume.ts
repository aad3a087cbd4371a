// SPDX-License-Identifier: Apache-2.0
import { type Failure, resourcesSchema } from "@collimate/contracts";
import { fail, failure } from "../operation/end.ts";
import { move, sandboxesOf } from "../sandbox/move.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./held.ts";
import { homeNode, privateMib, snapshotSizes, takeRoom } from "./nodes.ts";
import { ENDED, NO_NODE, noRoom, type Outcome } from "./outcome.ts";

/** On the node that has the sandbox's snapshot; needs room like a create. */
export async function placeResume(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, operation } = attempt;
  await move(tx, operation.sandboxIds, "resume"); // unless the api has done so already
  const [sandbox] = await sandboxesOf(tx, operation.sandboxIds);
  if (sandbox?.state !== "resuming" || sandbox.snapshotId === null) {
    return refuse(
      attempt,
      failure(sandbox?.state === "running" ? "conflict" : "session_gone", `not possible: resume while ${sandbox?.state ?? "unknown"}`),
    );
  }
  const node = await homeNode(attempt, sandbox.nodeId, "new work");
  if (!node) return NO_NODE;
  const need = {
    mib: privateMib(
      (await snapshotSizes(tx, [sandbox.snapshotId])).get(sandbox.snapshotId),
      resourcesSchema.parse(sandbox.resources).memory_mib,
      ctx.policy,
    ),
    slots: 1,
  };
  const choice = await takeRoom(attempt, [node], need);
  if (choice.kind === "full") return noRoom(choice.nodes, need);
  if (choice.kind === "too_large")
    return refuse(attempt, failure("does_not_fit", `sandbox ${sandbox.id} needs ${need.mib} MiB, more than its node has in all`));
  await tx.sandbox.update({ where: { id: sandbox.id }, data: { reservedMib: need.mib } });
  return assign(attempt, { nodeId: node.id, snapshotId: sandbox.snapshotId });
}

async function refuse({ ctx, tx, effects, operation }: Attempt, reason: Failure): Promise<Outcome> {
  await move(tx, operation.sandboxIds, "put_back");
  await fail(ctx, tx, effects, operation, reason);
  return ENDED;
}
