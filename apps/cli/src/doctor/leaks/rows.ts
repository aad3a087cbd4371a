// SPDX-License-Identifier: Apache-2.0
import { LIVE_STATES } from "@collimate/contracts";
import type { Leak } from "./leak.ts";
import type { Scene } from "./scene.ts";

/** A change of state that takes longer than this has been forgotten: a held request is answered within 110 s. */
const FORGOTTEN_AFTER_MS = 150_000;

/** Rows that say a sandbox lives which no agent knows. */
export async function leakedRows(scene: Scene): Promise<Leak[]> {
  if (scene.databaseUrl === undefined) return [];
  const { openDatabase } = await import("@collimate/db");
  await using database = openDatabase(scene.databaseUrl, { poolSize: 1, applicationName: "collimate-doctor" });
  const rows = await database.client.sandbox.findMany({
    where: { state: { in: LIVE_STATES.filter((state) => state !== "suspended") } },
    select: { id: true, state: true, createdAt: true, lastActiveAt: true },
    orderBy: { createdAt: "asc" },
    take: 10_000,
  });
  const running = rows.filter((row) => row.state === "running");
  const known = scene.agent?.sandboxes ?? 0;
  const unknown = running.length > known ? running : [];
  const old = Date.now() - FORGOTTEN_AFTER_MS;
  const stuck = rows.filter((row) => row.state !== "running" && row.createdAt.getTime() < old && row.lastActiveAt.getTime() < old);
  return [
    ...unknown.map((row): Leak => ({
      kind: "row",
      name: row.id,
      detail: `sandbox "running"; ${running.length} rows say so, the agent knows ${known}`,
    })),
    ...stuck.map((row): Leak => ({
      kind: "row",
      name: row.id,
      detail: `sandbox has been "${row.state}" for more than ${FORGOTTEN_AFTER_MS / 1_000} s`,
    })),
  ];
}

/** Ids of the snapshots that the database wants kept; undefined when there is no database to ask. */
export async function undeletedSnapshots(scene: Scene): Promise<Set<string> | undefined> {
  if (scene.databaseUrl === undefined) return undefined;
  const { openDatabase } = await import("@collimate/db");
  await using database = openDatabase(scene.databaseUrl, { poolSize: 1, applicationName: "collimate-doctor" });
  const [rows, templates] = await Promise.all([
    database.client.snapshot.findMany({ where: { deletedAt: null }, select: { id: true } }),
    database.client.template.findMany({ where: { deletedAt: null, snapshotId: { not: null } }, select: { snapshotId: true } }),
  ]);
  return new Set([...rows.map((row) => row.id), ...templates.flatMap((row) => (row.snapshotId === null ? [] : [row.snapshotId]))]);
}
