// SPDX-License-Identifier: Apache-2.0
import { CollimateError } from "@collimate/contracts";
import type { Sandbox } from "@collimate/db";
import { waitForEnd } from "../operation/hold.ts";
import type { Hold } from "../operation/hold.ts";
import { CallerGone } from "../server/caller-gone.ts";
import type { Platform } from "../server/platform.ts";
import type { TenantScope } from "../tenant/scope.ts";

/** Waits until nothing is being done to the sandbox: it is then running or suspended. */
export async function awaitQuiet(platform: Platform, scope: TenantScope, id: string, hold: Hold): Promise<Sandbox> {
  for (;;) {
    const sandbox = await scope.sandbox(id);
    if (sandbox.state === "running" || sandbox.state === "suspended") return sandbox;
    if (sandbox.state === "failed")
      throw new CollimateError("session_gone", `sandbox ${id} ended by itself: ${sandbox.error || "no reason is known"}`);
    if (sandbox.state === "deleting") throw new CollimateError("session_gone", `sandbox ${id} is being deleted`);
    const operation = await scope.openOperationOn(id);
    if (!operation) {
      if ((await scope.sandbox(id)).version !== sandbox.version) continue;
      throw new CollimateError("conflict", `sandbox ${id} is ${sandbox.state} and nothing is under way; try again`);
    }
    // Someone else's operation: its failure shows in the sandbox's state.
    if ((await waitForEnd(platform, { ...operation, waiterUntil: null }, hold)) !== null) continue;
    if (hold.gone.aborted) throw new CallerGone();
    throw new CollimateError("operation_timeout", `sandbox ${id} is still ${sandbox.state} (${operation.kind} ${operation.id}); try again`);
  }
}
