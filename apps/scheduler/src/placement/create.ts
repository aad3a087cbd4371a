// SPDX-License-Identifier: Apache-2.0
/** Creates, many at once: where the template's snapshot is, if it is anywhere; else on any live node. */
import { type Failure, resourcesSchema, templatePhaseSchema } from "@collimate/contracts";
import type { Operation, Sandbox, Template } from "@collimate/db";
import { reserveRoom } from "../node/room.ts";
import { fail, failure } from "../operation/end.ts";
import { discard, moveToPlacing, sandboxesOf } from "../sandbox/move.ts";
import { assignMany } from "./assign.ts";
import { type BatchAttempt, noteWaiting, type Outcomes } from "./held.ts";
import { type Fleet, loadFleet } from "./fleet.ts";
import { createJob } from "./node-job.ts";
import { privateMib, snapshotSizes } from "./nodes.ts";
import { ENDED, NO_NODE, noRoom, NOT_READY, type Outcome, PLACED } from "./outcome.ts";

interface Ready {
  readonly operation: Operation;
  readonly sandbox: Sandbox;
  readonly snapshotId: string;
}
interface Planned extends Ready {
  readonly nodeId: string;
  readonly mib: number;
}

export async function placeCreates(batch: BatchAttempt): Promise<Outcomes> {
  const outcomes: Outcomes = new Map();
  const ready = await select(batch, outcomes);
  const planned = await plan(batch, ready, outcomes);
  const reserved = await reserve(batch, planned, outcomes);
  await take(batch, reserved, outcomes);
  return outcomes;
}

/** Those whose template can be restored; the others end, or wait for their bake. */
async function select(batch: BatchAttempt, outcomes: Outcomes): Promise<Ready[]> {
  const { tx, operations } = batch;
  const sandboxes = new Map(
    (
      await sandboxesOf(
        tx,
        operations.flatMap((one) => one.sandboxIds),
      )
    ).map((row) => [row.id, row]),
  );
  const ids = [...new Set([...sandboxes.values()].map((row) => row.templateId))];
  const templates = new Map((await tx.template.findMany({ where: { id: { in: ids } } })).map((row) => [row.id, row]));
  const ready: Ready[] = [];
  for (const operation of operations) {
    const sandbox = sandboxes.get(operation.sandboxIds[0] ?? "");
    const template = templates.get(sandbox?.templateId ?? "");
    const obstacle = obstacleTo(sandbox, template);
    if (obstacle) outcomes.set(operation.id, await refuse(batch, operation, obstacle));
    else if (!sandbox || !template?.snapshotId || template.phase !== "Live") outcomes.set(operation.id, NOT_READY);
    else ready.push({ operation, sandbox, snapshotId: template.snapshotId });
  }
  return ready;
}

function obstacleTo(sandbox: Sandbox | undefined, template: Template | undefined): Failure | undefined {
  if (sandbox?.state !== "requested") return failure("session_gone", "it was deleted before it was placed");
  if (!template || template.deletedAt) return failure("not_found", `template ${sandbox.templateId} was deleted`);
  if (templatePhaseSchema.parse(template.phase) === "Failed")
    return failure("bake_failed", template.error || `template ${template.id} could not be baked`);
  return undefined;
}

/** Each in its turn takes the best node that has room, counting what those before it have taken. */
async function plan(batch: BatchAttempt, ready: readonly Ready[], outcomes: Outcomes): Promise<Planned[]> {
  if (ready.length === 0) return [];
  const snapshotIds = [...new Set(ready.map((one) => one.snapshotId))];
  const [fleet, sizes] = [await loadFleet(batch, snapshotIds), await snapshotSizes(batch.tx, snapshotIds)];
  const planned: Planned[] = [];
  for (const one of ready) {
    const mib = privateMib(sizes.get(one.snapshotId), resourcesSchema.parse(one.sandbox.resources).memory_mib, batch.ctx.policy);
    const found = await find(batch, fleet, one, mib);
    if (typeof found === "string") planned.push({ ...one, nodeId: found, mib });
    else outcomes.set(one.operation.id, found);
  }
  return planned;
}

async function find(batch: BatchAttempt, fleet: Fleet, { operation, sandbox, snapshotId }: Ready, mib: number): Promise<string | Outcome> {
  const { claims } = batch;
  const { tenantId, templateId } = operation;
  if (claims.isBehind({ tenantId, templateId, kind: "create" })) return NOT_READY;
  const need = { mib, slots: 1 };
  const choice = fleet.choose(snapshotId, need, (nodeId) => claims.mayTake(tenantId, nodeId, need));
  if (choice.kind === "taken") return choice.nodeId;
  if (choice.kind === "too_large")
    return refuse(
      batch,
      operation,
      failure("does_not_fit", `a sandbox of template ${sandbox.templateId} needs ${mib} MiB of its own, and no node is that large`),
    );
  const waits = choice.kind === "no_node" ? NO_NODE : noRoom(choice.nodes, need);
  noteWaiting(batch, operation, waits);
  return waits;
}

/** Compare-and-set per node. Where another scheduler was quicker, they stay queued and are looked at again at once. */
async function reserve({ ctx, tx, effects }: BatchAttempt, planned: readonly Planned[], outcomes: Outcomes): Promise<Planned[]> {
  const reserved: Planned[] = [];
  // In the order of ids, as every scheduler does: two that lock several nodes never wait for each other in a circle.
  const byNode = [...Map.groupBy(planned, (one) => one.nodeId)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [nodeId, here] of byNode) {
    const need = { mib: here.reduce((sum, one) => sum + one.mib, 0), slots: here.length };
    if (await reserveRoom(tx, nodeId, need, ctx.policy)) reserved.push(...here);
    else {
      for (const one of here) outcomes.set(one.operation.id, noRoom([nodeId], { mib: one.mib, slots: 1 }));
      effects.placement = true;
    }
  }
  return reserved;
}

async function take({ ctx, tx, effects }: BatchAttempt, reserved: readonly Planned[], outcomes: Outcomes): Promise<void> {
  const moved = new Map(
    (
      await moveToPlacing(
        tx,
        reserved.map(({ sandbox, nodeId, mib }) => ({ sandboxId: sandbox.id, nodeId, reservedMib: mib })),
      )
    ).map((row) => [row.id, row]),
  );
  const taken = reserved.filter((one) => moved.has(one.sandbox.id));
  for (const { operation, nodeId } of reserved.filter((one) => !moved.has(one.sandbox.id))) {
    // Deleted just now: the next look ends it.
    outcomes.set(operation.id, NOT_READY);
    effects.room.push({ nodeId, slots: 0, at: ctx.now() });
  }
  const assigned = await assignMany(tx, taken, ctx.now());
  for (const operation of assigned) {
    const sandbox = moved.get(operation.sandboxIds[0] ?? "");
    if (sandbox) effects.jobs.push(createJob(operation, sandbox));
    outcomes.set(operation.id, PLACED);
  }
}

async function refuse({ ctx, tx, effects }: BatchAttempt, operation: Operation, reason: Failure): Promise<Outcome> {
  await discard(tx, operation.sandboxIds, ctx.now(), reason.message);
  await fail(ctx, tx, effects, operation, reason);
  return ENDED;
}
