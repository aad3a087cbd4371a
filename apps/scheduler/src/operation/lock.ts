// SPDX-License-Identifier: Apache-2.0
import type { Operation, Tx } from "@collimate/db";

/** The operation, held until the transaction ends; waits for whoever holds it now. */
export async function lockOperation(tx: Tx, id: string): Promise<Operation | undefined> {
  const [row] = await tx.$queryRaw<Operation[]>`SELECT * FROM "operations" WHERE "id" = ${id} FOR UPDATE`;
  return row;
}

/** The operation if it is still queued and nobody else is at it. */
export async function claimQueued(tx: Tx, id: string): Promise<Operation | undefined> {
  const [row] = await tx.$queryRaw<Operation[]>`SELECT * FROM "operations" WHERE "id" = ${id} AND "state" = 'queued' FOR UPDATE SKIP LOCKED`;
  return row;
}
