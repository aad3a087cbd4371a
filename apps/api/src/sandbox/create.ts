// SPDX-License-Identifier: Apache-2.0
/** A new sandbox of a template. */
import { CollimateError } from "@collimate/contracts";
import type { CreateSandbox } from "@collimate/contracts";
import type { Operation, Sandbox } from "@collimate/db";
import { begin } from "../operation/begin.ts";
import { settle } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import type { Idempotency } from "../operation/idempotency.ts";
import type { Platform } from "../server/platform.ts";
import { templateReady } from "../template/ready.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { admit } from "./quota.ts";
import { newSandbox, refuseSecrets } from "./settings.ts";

/** Longer than any request is held: the caller's lease ends an operation that nobody waits for. */
const DEADLINE_MS = 900_000;

export interface Created {
  readonly operation: Operation;
  readonly sandbox: Sandbox;
  readonly forkTimeMs: number;
  readonly createTimeMs: number;
}

export async function createSandbox(
  platform: Platform,
  caller: Caller,
  body: CreateSandbox,
  idempotency: Idempotency | null,
  hold: Hold,
): Promise<Created> {
  const started = performance.now();
  refuseSecrets(body);
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  const operation = await begin(platform, caller, idempotency, async () => {
    const template = await templateReady(platform, scope, body.template, hold);
    return async (tx) => {
      await admit(tx, caller.tier, 1);
      const row = newSandbox(template, body, caller.tier);
      await tx.insertSandboxes([row]);
      return { kind: "create", templateId: template.id, sandboxIds: [row.id], request: {}, deadlineMs: DEADLINE_MS, leased: true };
    };
  });
  const result = await settle(platform, operation, hold);
  if (result?.kind !== "create") throw new CollimateError("internal", `operation ${operation.id} ended without a sandbox`);
  const [sandbox] = await scope.sandboxesById(operation.sandboxIds);
  if (!sandbox || sandbox.state === "deleted")
    throw new CollimateError("session_gone", `sandbox ${result.sandboxId} was deleted meanwhile`);
  return { operation, sandbox, forkTimeMs: result.forkTimeMs, createTimeMs: performance.now() - started };
}
