// SPDX-License-Identifier: Apache-2.0
import { DEFAULT_API_PORT } from "../../platform/applications.ts";
import { isFree } from "../../platform/port.ts";
import { PARTS } from "../../platform/parts.ts";
import { readEndpoints } from "../../state/endpoints.ts";
import { recordPath } from "../../state/paths.ts";
import type { StatePaths } from "../../state/paths.ts";
import { readRecord } from "@collimate/embedded";
import { ok, warn } from "../finding.ts";
import type { Finding } from "../finding.ts";

/** Addresses that clients know should stay the same from one start to the next. */
export async function ports(paths: StatePaths): Promise<Finding> {
  const endpoints = await readEndpoints(paths).catch(() => undefined);
  const taken: string[] = [];
  for (const part of PARTS) {
    if ((await readRecord(recordPath(paths, part.name))) !== undefined) continue; // it has its port itself
    const port = endpoints?.[part.name]?.port ?? (part.name === "api" ? DEFAULT_API_PORT : undefined);
    if (port !== undefined && !(await isFree(port))) taken.push(`${part.name} ${port}`);
  }
  if (taken.length > 0)
    return warn("ports", `in use by other programs: ${taken.join(", ")}`, "nothing needs to be done: up takes free ones and tells them");
  return ok("ports", "free");
}
