// SPDX-License-Identifier: Apache-2.0
/** A template that sandboxes can be made of; a bake that is on its way is waited for. */
import { CollimateError, errorCodeSchema } from "@collimate/contracts";
import type { Template } from "@collimate/db";
import { setTimeout as pause } from "node:timers/promises";
import type { Hold } from "../operation/hold.ts";
import { CallerGone } from "../server/caller-gone.ts";
import type { Platform } from "../server/platform.ts";
import type { TenantScope } from "../tenant/scope.ts";

const LOOK_MS = 250;

/** Looks again until the bake has ended, within the time that the request is held. Nothing has been made before it returns. */
export async function templateReady(platform: Platform, scope: TenantScope, reference: string, hold: Hold): Promise<Template> {
  const stop = AbortSignal.any([hold.gone, hold.patience, platform.stopping]);
  for (let row = await scope.template(reference); ; row = await scope.template(row.id)) {
    if (row.phase === "Live") return row;
    if (row.phase === "Failed") throw bakeFailed(row);
    try {
      await pause(LOOK_MS, undefined, { signal: stop });
    } catch {
      if (hold.gone.aborted) throw new CallerGone();
      throw new CollimateError("at_capacity", `template ${row.id} is still being baked (${row.phase}); nothing was made, try again`);
    }
  }
}

function bakeFailed(row: Template): CollimateError {
  const cause = errorCodeSchema.safeParse(row.errorCode);
  return new CollimateError(
    "bake_failed",
    `template ${row.id} (${row.name}) failed to bake${cause.success && cause.data !== "bake_failed" ? ` (${cause.data})` : ""}: ${row.error}`.slice(
      0,
      8_000,
    ),
  );
}
