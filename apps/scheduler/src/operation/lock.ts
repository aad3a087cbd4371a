// SPDX-License-Identifier: Apache-2.0
import type { Operation, Tx } from "@collimate/db";

/** The operation, held until the transaction ends; waits for whoever holds it now. */
export async function lockOperation(tx: Tx, id: string): Promise<Operation | undefined> {
  const [row] = await tx.$queryRaw<Operation[]>`SELECT * FROM "operations" WHERE "id" = ${id} FOR UPDATE`;
  return row;
}

/** Those that are still queued and that nobody else is at, in the order of `ids`. */
export async function claimQueued(tx: Tx, ids: readonly string[]): Promise<Operation[]> {
  const rows = await tx.$queryRaw<
    Operation[]
  >`SELECT * FROM "operations" WHERE "id" = ANY (${ids}) AND "state" = 'queued' ORDER BY "id" FOR UPDATE SKIP LOCKED`;
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
