// SPDX-License-Identifier: Apache-2.0
/** Exec and fork wake a suspended sandbox, and wait for one that is on its way. */
import { CollimateError } from "@collimate/contracts";
import type { Sandbox } from "@collimate/db";
import { settle } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { changeState } from "./lifecycle.ts";

/** Waits until nothing is being done to the sandbox: it is then running or suspended. */
export async function awaitQuiet(platform: Platform, scope: TenantScope, id: string, hold: Hold): Promise<Sandbox> {
  for (;;) {
    const sandbox = await scope.sandbox(id);
    if (sandbox.state === "running" || sandbox.state === "suspended") return sandbox;
    if (sandbox.state === "failed") throw new CollimateError("session_gone", `sandbox ${id} ended by itself: ${sandbox.error || "no reason is known"}`);
    if (sandbox.state === "deleting") throw new CollimateError("session_gone", `sandbox ${id} is being deleted`);
    const operation = await scope.openOperationOn(id);
    if (operation) await settle(platform, { ...operation, waiterUntil: null }, hold);
    else if ((await scope.sandbox(id)).version === sandbox.version) throw new CollimateError("conflict", `sandbox ${id} is ${sandbox.state} and nothing is under way; try again`);
  }
}

export async function ensureRunning(platform: Platform, caller: Caller, id: string, hold: Hold): Promise<Sandbox> {
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  const sandbox = await awaitQuiet(platform, scope, id, hold);
  if (sandbox.state === "running") return sandbox;
  return changeState(platform, caller, id, "resume", hold);
}
