// SPDX-License-Identifier: Apache-2.0
import { type Failure, resourcesSchema, type SandboxState, sandboxStateSchema } from "@collimate/contracts";
import type { Sandbox } from "@collimate/db";
import { fail, failure } from "../operation/end.ts";
import { discard, move, sandboxesOf } from "../sandbox/move.ts";
import { assign } from "./assign.ts";
import type { Attempt } from "./held.ts";
import { homeNode, privateMib, snapshotSizes, takeRoom } from "./nodes.ts";
import { ENDED, NO_NODE, noRoom, NOT_READY, type Outcome } from "./outcome.ts";

/** On the parent's node, room for all children or for none. */
export async function placeFork(attempt: Attempt): Promise<Outcome> {
  const { ctx, tx, operation } = attempt;
  const children = await sandboxesOf(tx, operation.sandboxIds);
  const [first] = children;
  if (!first || children.length !== operation.sandboxIds.length || children.some((child) => child.state !== "requested")) {
    return refuse(attempt, failure("session_gone", "children were deleted before the fork was placed"));
  }
  const parent = first.parentId === null ? null : await tx.sandbox.findUnique({ where: { id: first.parentId } });
  const obstacle = obstacleIn(parent);
  if (obstacle) return refuse(attempt, obstacle);
  if (parent?.state !== "running") return NOT_READY;

  const node = await homeNode(attempt, parent.nodeId, "new work");
  if (!node) return NO_NODE;
  const { memory_mib } = resourcesSchema.parse(first.resources);
  const template = await tx.template.findUnique({ where: { id: parent.templateId }, select: { snapshotId: true } });
  const sizes = await snapshotSizes(tx, template?.snapshotId ? [template.snapshotId] : []);
  const each = privateMib(sizes.get(template?.snapshotId ?? ""), memory_mib, ctx.policy);
  const need = { mib: each * children.length, slots: children.length };
  const choice = await takeRoom(attempt, [node], need);
  if (choice.kind === "full") return noRoom(choice.nodes, need);
  if (choice.kind === "too_large") {
    return refuse(
      attempt,
      failure(
        "does_not_fit",
        `${children.length} children need ${need.slots} slots and ${need.mib} MiB; the parent's node has ${node.slotsTotal} slots and ${node.memoryTotalMib} MiB in all`,
      ),
    );
  }
  await move(tx, operation.sandboxIds, "place", { nodeId: node.id, reservedMib: each });
  return assign(attempt, { nodeId: node.id });
}

const SOON: readonly SandboxState[] = ["requested", "placing", "starting", "running", "resuming"];

function obstacleIn(parent: Sandbox | null): Failure | undefined {
  if (!parent) return failure("not_found", "the parent of this fork is not known");
  const state = sandboxStateSchema.parse(parent.state);
  if (SOON.includes(state)) return undefined;
  if (state === "suspended" || state === "suspending") return failure("conflict", `sandbox ${parent.id} is ${state}; resume it first`);
  return failure("session_gone", `sandbox ${parent.id} is ${state}${parent.error ? `: ${parent.error}` : ""}`);
}

async function refuse({ ctx, tx, effects, operation }: Attempt, reason: Failure): Promise<Outcome> {
  await discard(tx, operation.sandboxIds, ctx.now(), reason.message);
  await fail(ctx, tx, effects, operation, reason);
  return ENDED;
}
