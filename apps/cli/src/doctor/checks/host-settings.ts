// SPDX-License-Identifier: Apache-2.0
import { settingsToChange } from "../../platform/host-settings.ts";
import { ok, warn } from "../finding.ts";
import type { Finding } from "../finding.ts";

/** Settings that would make forks shorter. They are host-wide, so they are changed only when asked for. */
export async function hostSettings(): Promise<Finding[]> {
  const found = await settingsToChange();
  if (found.length === 0) return [ok("host settings", "as they are best, or not there")];
  return found.map(({ setting, now }) =>
    warn(
      "host settings",
      `${setting.path} is ${now}, ${setting.value} is better: ${setting.why}`,
      "collimate up --tune-host (put back by down)",
    ),
  );
}
