// SPDX-License-Identifier: Apache-2.0
import type { Sandbox } from "@collimate/db";
import type { Hold } from "../operation/hold.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { awaitQuiet } from "./await-quiet.ts";
import { changeState } from "./lifecycle.ts";

/** Exec and fork wake a suspended sandbox, and wait for one that is on its way. */
export async function ensureRunning(platform: Platform, caller: Caller, id: string, hold: Hold): Promise<Sandbox> {
  const scope = new TenantScope(platform.database.client, caller.tenantId);
  const sandbox = await awaitQuiet(platform, scope, id, hold);
  if (sandbox.state === "running") return sandbox;
  return changeState(platform, caller, id, "resume", hold);
}
