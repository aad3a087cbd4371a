// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { fail, ok } from "../finding.ts";
import type { Finding } from "../finding.ts";

/** Bits of CapEff in /proc/self/status, from linux/capability.h. */
const NEEDED = { CAP_NET_ADMIN: 12n, CAP_SYS_PTRACE: 19n, CAP_SYS_ADMIN: 21n } as const;

export async function privileges(): Promise<Finding> {
  if (process.getuid?.() !== 0) return fail("privileges", "not root", "run it as root or through sudo");
  const status = await readFile("/proc/self/status", "utf8");
  const [, hex = "0"] = /^CapEff:\s*([0-9a-f]+)/m.exec(status) ?? [];
  const effective = BigInt(`0x${hex}`);
  const missing = Object.entries(NEEDED).flatMap(([name, bit]) => ((effective & (1n << bit)) === 0n ? [name] : []));
  if (missing.length > 0) {
    return fail(
      "privileges",
      `root without ${missing.join(", ")}`,
      "run it on the host itself, or in a container with all capabilities (--privileged)",
    );
  }
  return ok("privileges", "root with all that is needed");
}
