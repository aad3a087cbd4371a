// SPDX-License-Identifier: Apache-2.0
/** Sandboxes change state here and nowhere else: as compare-and-set, by the table of contracts. */
import { type NodeJob, SANDBOX_MACHINE, type SandboxEvent, type SandboxState, sources, target } from "@collimate/contracts";
import type { Prisma, Sandbox, Tx } from "@collimate/db";
import type { Context } from "../context.ts";

export type SandboxChange = Omit<Prisma.SandboxUncheckedUpdateManyInput, "state" | "version" | "id">;

/** Moves those of `ids` that can make the step; returns them as they are now. */
export async function move(tx: Tx, ids: readonly string[], event: SandboxEvent, set: SandboxChange = {}): Promise<Sandbox[]> {
  if (ids.length === 0) return [];
  return tx.sandbox.updateManyAndReturn({
    where: { id: { in: [...ids] }, state: { in: sources(SANDBOX_MACHINE, event) } },
    data: { ...set, state: target(SANDBOX_MACHINE, event), version: { increment: 1 } },
  });
}

export interface Start {
  readonly sandboxId: string;
  readonly startedAt: number;
  readonly endpoints: Readonly<Record<string, string>>;
}

/** Many children at once, each with its own start: a group of 64 is one statement. */
export async function moveToRunning(
  tx: Tx,
  starts: readonly Start[],
  times: { readonly forkTimeMs: number; readonly createTimeMs: number },
): Promise<Sandbox[]> {
  const rows = JSON.stringify(
    starts.map(({ sandboxId, startedAt, endpoints }) => ({ id: sandboxId, at: new Date(startedAt).toISOString(), endpoints })),
  );
  return tx.$queryRaw<Sandbox[]>`
    UPDATE "sandboxes" s SET "state" = ${target(SANDBOX_MACHINE, "ran")}, "version" = s."version" + 1, "startedAt" = e.at, "lastActiveAt" = e.at,
      "endpoints" = e.endpoints, "forkTimeMs" = ${times.forkTimeMs}::float8, "createTimeMs" = ${times.createTimeMs}::float8, "error" = ''
    FROM jsonb_to_recordset(${rows}::jsonb) AS e(id TEXT, at TIMESTAMPTZ, endpoints JSONB)
    WHERE s."id" = e.id AND s."state" = ANY (${sources(SANDBOX_MACHINE, "ran")})
    RETURNING s.*`;
}

/** failed -> deleting -> deleted in one step, for what never came to be and so has nothing to delete on a node. */
export async function discard(tx: Tx, ids: readonly string[], at: Date, error: string): Promise<string[]> {
  const failed = await move(tx, ids, "fail", { error: cut(error), endedAt: at, reservedMib: 0 });
  const deleting = await move(
    tx,
    failed.map((row) => row.id),
    "delete",
  );
  const deleted = await move(
    tx,
    deleting.map((row) => row.id),
    "deleted",
  );
  return deleted.map((row) => row.id);
}

export interface Placing {
  readonly sandboxId: string;
  readonly nodeId: string;
  readonly reservedMib: number;
}

/** `place`, for many with a node each. */
export async function moveToPlacing(tx: Tx, places: readonly Placing[]): Promise<Sandbox[]> {
  if (places.length === 0) return [];
  return tx.$queryRaw<Sandbox[]>`
    UPDATE "sandboxes" s SET "state" = ${target(SANDBOX_MACHINE, "place")}, "version" = s."version" + 1, "nodeId" = e."nodeId", "reservedMib" = e."reservedMib"
    FROM jsonb_to_recordset(${JSON.stringify(places)}::jsonb) AS e("sandboxId" TEXT, "nodeId" TEXT, "reservedMib" INTEGER)
    WHERE s."id" = e."sandboxId" AND s."state" = ANY (${sources(SANDBOX_MACHINE, "place")}) RETURNING s.*`;
}

/** An end at its own time. */
export interface Ending {
  readonly sandboxId: string;
  readonly endedAt: Date;
}

/** `deleted`, for many. */
export async function moveToDeleted(tx: Tx, endings: readonly Ending[]): Promise<Sandbox[]> {
  if (endings.length === 0) return [];
  return tx.$queryRaw<Sandbox[]>`
    UPDATE "sandboxes" s SET "state" = ${target(SANDBOX_MACHINE, "deleted")}, "version" = s."version" + 1, "endedAt" = e."endedAt", "reservedMib" = 0
    FROM jsonb_to_recordset(${JSON.stringify(endings)}::jsonb) AS e("sandboxId" TEXT, "endedAt" TIMESTAMPTZ)
    WHERE s."id" = e."sandboxId" AND s."state" = ANY (${sources(SANDBOX_MACHINE, "deleted")}) RETURNING s.*`;
}

/** The jobs lie in their nodes' queues: what was being placed is starting. */
export async function markStarted(ctx: Context, jobs: readonly NodeJob[]): Promise<void> {
  const ids = jobs.flatMap((job) =>
    job.kind === "create" ? [job.child.sandboxId] : job.kind === "fork" ? job.children.map((child) => child.sandboxId) : [],
  );
  if (ids.length === 0) return;
  await ctx.db.client.sandbox.updateMany({
    where: { id: { in: ids }, state: "placing" satisfies SandboxState },
    data: { state: target(SANDBOX_MACHINE, "start"), version: { increment: 1 } },
  });
}

/** In the order of `ids`; unknown ones are left out. */
export async function sandboxesOf(tx: Tx, ids: readonly string[]): Promise<Sandbox[]> {
  const rows = await tx.sandbox.findMany({ where: { id: { in: [...ids] } } });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export function cut(text: string): string {
  return text.slice(0, 2_000);
}
