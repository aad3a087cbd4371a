// SPDX-License-Identifier: Apache-2.0
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { findProgram } from "@collimate/embedded";
import { fail, ok } from "../finding.ts";
import type { Finding } from "../finding.ts";

/** Programs of the distribution: program, Debian package. */
const NEEDED = {
  "redis-server": "redis-server",
  "docker-registry": "docker-registry",
  skopeo: "skopeo",
  umoci: "umoci",
  mmdebstrap: "mmdebstrap",
  nft: "nftables",
  ip: "iproute2",
  unshare: "util-linux",
  setpriv: "util-linux",
  mount: "mount",
} as const;

export async function distributionPrograms(): Promise<Finding> {
  const missing = new Set<string>();
  for (const [program, debianPackage] of Object.entries(NEEDED)) {
    if (
      !(await findProgram(program, debianPackage).then(
        () => true,
        () => false,
      ))
    )
      missing.add(debianPackage);
  }
  if (missing.size > 0)
    return fail("programs", `missing: ${[...missing].join(", ")}`, `apt-get install ${[...missing].join(" ")} (or ./collimate setup)`);
  return ok("programs", "all of the distribution's that are needed");
}

export async function builtPrograms(tools: string): Promise<Finding> {
  const needed = ["criu/criu", "guest/collimate-init", "host/collimate-hostd"];
  const there = await Promise.all(
    needed.map((path) =>
      access(join(tools, path), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  const missing = needed.filter((_, i) => there[i] === false);
  if (missing.length > 0) return fail("built programs", `missing in ${tools}: ${missing.join(", ")}`, "./collimate setup");
  return ok("built programs", tools);
}
