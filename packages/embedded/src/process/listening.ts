// SPDX-License-Identifier: Apache-2.0
import { readdir, readFile, readlink } from "node:fs/promises";

/** State "listening" in /proc/net/tcp (proc_net_tcp in the kernel's documentation; TCP_LISTEN of tcp_states.h). */
const LISTEN = "0A";

/**
 * Whether this very process listens on a TCP port. An answer on the port does not say so: of two programs that chose the
 * same free port, the one that lost is still starting while the other answers.
 */
export async function listensOn(pid: number, port: number): Promise<boolean> {
  const sockets = await listeningSockets(pid, port);
  if (sockets.size === 0) return false;
  const fds = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(fds.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")));
  return targets.some((target) => sockets.has(target));
}

/** Names, as /proc/PID/fd has them, of all sockets that listen on a port in the process's network namespace. */
async function listeningSockets(pid: number, port: number): Promise<Set<string>> {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8").catch(() => "")));
  const found = new Set<string>();
  for (const line of tables.join("\n").split("\n")) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (local?.endsWith(wanted) === true && state === LISTEN && inode !== undefined) found.add(`socket:[${inode}]`);
  }
  return found;
}
