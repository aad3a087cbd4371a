// SPDX-License-Identifier: Apache-2.0
/** Who answers sandboxes that ask for names. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { join } from "node:path";

/** systemd-resolved writes 127.0.0.53 into the first, where no sandbox can reach it, and the servers behind it into the second. */
const FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
/** Every sandbox's next hop; on the host no device has it. */
const GATEWAY = "169.254.1.1";

/** The host's own server, if it has one that is not on its loopback. */
export async function hostResolver(): Promise<string | undefined> {
  for (const file of FILES) {
    const found = serverOf(await readFile(file, "utf8").catch(() => ""));
    if (found !== undefined) return found;
  }
  return undefined;
}

export function serverOf(resolvConf: string): string | undefined {
  const servers = resolvConf.split("\n").map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? "");
  return servers.find((server) => isIPv4(server) && !server.startsWith("127."));
}

/** Into the writable layer of a sandbox that is to be booted: programs ask the gateway, whoever answers there. */
export async function writeResolvConf(upper: string): Promise<void> {
  const folder = join(upper, "etc");
  await mkdir(folder, { mode: 0o755 });
  await writeFile(join(folder, "resolv.conf"), `nameserver ${GATEWAY}\n`, { mode: 0o644 });
}
