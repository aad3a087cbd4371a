// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { probe } from "@collimate/criu";
import { fail, ok, warn } from "../finding.ts";
import type { Finding } from "../finding.ts";

/** Really checkpoints a throw-away process. */
export async function criuTrial(tools: string): Promise<Finding> {
  const result = await probe({ path: join(tools, "criu", "criu") });
  if (!result.works) {
    const remedy =
      result.version === ""
        ? "./collimate setup builds it"
        : "the reason is in the line above; a container needs --privileged, a kernel the CONFIG_CHECKPOINT_RESTORE options";
    return fail("criu", result.reason.trim().replaceAll(/\s*\n\s*/g, "; "), remedy);
  }
  if (result.program.withoutBreakpoints)
    return warn(
      "criu",
      `${result.version} works, without hardware breakpoints`,
      "nothing needs to be done (some virtual machines lack them)",
    );
  return ok("criu", `${result.version} works`);
}
