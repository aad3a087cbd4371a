// SPDX-License-Identifier: Apache-2.0
/** A request that waits for its operation, within what published clients wait (wire contract, section 4). */
import { CollimateError, failureSchema, nodeResultSchema } from "@collimate/contracts";
import type { NodeResult, OperationEnd } from "@collimate/contracts";
import type { Operation } from "@collimate/db";
import { CallerGone } from "../server/caller-gone.ts";
import type { Platform } from "../server/platform.ts";
import { TenantScope } from "../tenant/scope.ts";
import { abandon } from "./abandon.ts";
import { LEASE_MS } from "./begin.ts";

const RENEW_MS = LEASE_MS / 3;
/** A message that was missed delays an answer by this much at most. */
const POLL_MS = 2_000;
/** Above every patience; the signals end a wait. */
const WAIT_MAX_MS = 600_000;

export interface Hold {
  /** Aborted when the caller's connection closes. */
  readonly gone: AbortSignal;
  /** Aborted when the request has been held long enough. */
  readonly patience: AbortSignal;
}

/** What the row says of its end, or null while it is on its way. */
export function endOf(row: Operation): OperationEnd | null {
  if (row.state === "done") return { state: "done", result: row.result === null ? null : nodeResultSchema.parse(row.result) };
  if (row.state === "failed") return { state: "failed", failure: failureSchema.parse(row.failure) };
  return null;
}

/** Waits for the end; null when the caller left, the patience ended, or the server stops. Renews the caller's lease meanwhile. */
export async function waitForEnd(platform: Platform, operation: Operation, hold: Hold): Promise<OperationEnd | null> {
  const known = endOf(operation);
  if (known) return known;
  const scope = new TenantScope(platform.database.client, operation.tenantId);
  const poll = async () => {
    const row = await scope.operation(operation.id);
    return (row && endOf(row)) ?? undefined;
  };
  const letGo = keepLease(platform, operation);
  const signal = AbortSignal.any([hold.gone, hold.patience, platform.stopping]);
  try {
    return (await platform.bus.waitForOperation(operation.id, { poll, pollMs: POLL_MS, signal, timeoutMs: WAIT_MAX_MS })) ?? null;
  } finally {
    letGo();
  }
}

/** Keeps the caller's lease on an operation until the returned function is called. With an idempotency key the lease is long and stands by itself. */
export function keepLease(platform: Platform, operation: Operation): () => void {
  if (operation.waiterUntil === null || operation.idempotencyKey !== null) return () => {};
  const scope = new TenantScope(platform.database.client, operation.tenantId);
  const timer = setInterval(() => {
    scope.updateOperation({ id: operation.id }, { waiterUntil: new Date(Date.now() + LEASE_MS) }).catch((error: unknown) => {
      platform.log.warn({ err: error, operationId: operation.id }, "the lease on an operation was not renewed");
    });
  }, RENEW_MS);
  return () => clearInterval(timer);
}

/**
 * The result of an operation, or its failure as an error. A caller that cannot be answered in time gets what is true:
 * without an idempotency key nothing is kept of the operation, with one it goes on and the same request finds it again.
 */
export async function settle(platform: Platform, operation: Operation, hold: Hold): Promise<NodeResult | null> {
  const end = await waitForEnd(platform, operation, hold);
  if (end?.state === "done") return end.result;
  if (end?.state === "failed") throw CollimateError.fromFailure(end.failure);
  const leased = operation.waiterUntil !== null;
  if (leased && operation.idempotencyKey === null) {
    await abandon(platform, operation);
    if (hold.gone.aborted) throw new CallerGone();
    throw new CollimateError(
      "at_capacity",
      platform.stopping.aborted
        ? "the server is stopping; nothing was made"
        : `no room came free within the time that a request is held; nothing was made (${operation.kind} ${operation.id})`,
    );
  }
  if (hold.gone.aborted) throw new CallerGone();
  if (platform.stopping.aborted) throw new CollimateError("draining", `the server is stopping; operation ${operation.id} goes on`);
  throw new CollimateError(
    "operation_timeout",
    `operation ${operation.id} (${operation.kind}) goes on; send the same request with the same Idempotency-Key to wait for it again`,
  );
}

/**
 * The caller is about to have the answer: what was made is its own from here on. Should the connection break before the
 * answer is out, a caller without an idempotency key can never learn the ids, so nothing is kept.
 */
export async function handOver(platform: Platform, operation: Operation, hold: Hold): Promise<void> {
  await new TenantScope(platform.database.client, operation.tenantId).updateOperation({ id: operation.id }, { waiterUntil: null });
  if (operation.idempotencyKey !== null) return;
  const undo = () => {
    abandon(platform, operation).catch((error: unknown) => {
      platform.log.error(
        { err: error, operationId: operation.id },
        "what an unanswered caller left behind was not deleted; it will be when it has been idle",
      );
    });
  };
  if (hold.gone.aborted) undo();
  else hold.gone.addEventListener("abort", undo, { once: true });
}
