// SPDX-License-Identifier: Apache-2.0
/** The start of every change: rows and operation in one transaction, then word to the scheduler. */
import { CollimateError, ERRORS, failureSchema, newId } from "@collimate/contracts";
import type { OperationKind } from "@collimate/contracts";
import { Prisma } from "@collimate/db";
import type { Operation } from "@collimate/db";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import type { Idempotency } from "./idempotency.ts";

/** A caller's lease on its operation; renewed while the request is held. When it runs out, what was made is reaped. */
export const LEASE_MS = 30_000;
/** A caller with an idempotency key may come back for the result for this long. */
export const KEYED_LEASE_MS = 600_000;

export interface NewOperation {
  readonly kind: OperationKind;
  /** The rows that it is about have been written in the same transaction. */
  readonly templateId?: string;
  readonly sandboxIds?: readonly string[];
  readonly request: Prisma.InputJsonObject;
  readonly deadlineMs: number;
  /** Whether what it makes belongs to nobody until a caller has the answer. */
  readonly leased: boolean;
}

/** Within the transaction; short. */
export type Make = (scope: TenantScope, operationId: string) => Promise<NewOperation>;
/** Before the transaction; may wait. Not asked when the idempotency key already has an operation. */
export type Plan = () => Promise<Make>;

/** An operation that is on its way: the one just made, or the earlier one of the same idempotency key. */
export async function begin(platform: Platform, caller: Caller, idempotency: Idempotency | null, plan: Plan): Promise<Operation> {
  const earlier = idempotency && (await findEarlier(platform, caller, idempotency));
  if (earlier) return earlier;
  const make = await plan();
  let operation: Operation;
  try {
    operation = await platform.database.client.$transaction((tx) => write(new TenantScope(tx, caller.tenantId), idempotency, make));
  } catch (error) {
    const twin = idempotency && isUniqueViolation(error) ? await findEarlier(platform, caller, idempotency) : null;
    if (twin) return twin;
    throw error;
  }
  await announce(platform, operation.id);
  return operation;
}

/** The scheduler also looks for queued operations in the database, so a lost word only delays. */
export async function announce(platform: Platform, operationId: string): Promise<void> {
  try {
    await platform.bus.enqueuePlacement({ operationId });
  } catch (error) {
    platform.log.warn({ err: error, operationId }, "the queue did not take an operation; the scheduler's sweep will find it");
  }
}

async function write(scope: TenantScope, idempotency: Idempotency | null, make: Make): Promise<Operation> {
  const id = newId("operation");
  const wanted = await make(scope, id);
  const now = Date.now();
  return scope.insertOperation({
    id,
    kind: wanted.kind,
    templateId: wanted.templateId ?? null,
    sandboxIds: [...(wanted.sandboxIds ?? [])],
    request: wanted.request,
    idempotencyKey: idempotency?.key ?? null,
    requestHash: idempotency?.requestHash ?? null,
    deadlineAt: new Date(now + wanted.deadlineMs),
    waiterUntil: wanted.leased ? new Date(now + (idempotency ? KEYED_LEASE_MS : LEASE_MS)) : null,
  });
}

async function findEarlier(platform: Platform, caller: Caller, idempotency: Idempotency): Promise<Operation | null> {
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  const row = await scope.operationOfKey(idempotency.key);
  if (!row) return null;
  if (row.requestHash !== idempotency.requestHash) {
    throw new CollimateError("idempotency_key_reused", "this Idempotency-Key was used for another request");
  }
  if (row.state !== "failed") return row;
  const failure = failureSchema.safeParse(row.failure);
  if (!failure.success || !ERRORS[failure.data.code].retryable) return row;
  // Nothing was kept of it, and the error said that the same request may be sent again: the key is free for that.
  await scope.updateOperation({ id: row.id, state: "failed" }, { idempotencyKey: null });
  return null;
}

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === "P2002";
}
