// SPDX-License-Identifier: Apache-2.0
/**
 * Process images of a fork lie on tmpfs, in the agent's own mount namespace. `huge=within_size` makes the parent's pause
 * less than half of what it is with small pages.
 */
import { readFile, readlink } from "node:fs/promises";
import { totalmem } from "node:os";
import { runProgram } from "./program.ts";

export async function mountMemoryFolder(folder: string, mib = 0): Promise<void> {
  const mounts = await readFile("/proc/self/mountinfo", "utf8");
  if (mounts.split("\n").some((line) => line.split(" ")[4] === folder)) return;
  const bytes = mib > 0 ? mib * 2 ** 20 : Math.floor(totalmem() / 2);
  const mounted = await runProgram(
    ["mount", "-t", "tmpfs", "-o", `size=${bytes},mode=0700,huge=within_size,nosuid,nodev,noexec`, "collimate-memory", folder],
    { timeoutMs: 10_000 },
  );
  if (!mounted.ok) throw new Error(`no tmpfs for process images: ${mounted.said}`);
}

/** The agent mounts and unmounts all day; in the host's own mount namespace each of these would be seen by every other service. */
export async function requireOwnMountNamespace(): Promise<void> {
  const [own, host] = await Promise.all([readNamespace("self"), readNamespace("1")]);
  if (own !== undefined && own === host)
    throw new Error(
      "start the agent in a mount namespace of its own: unshare --mount --propagation private -- node apps/agent/src/main.ts",
    );
}

/** Undefined where the first process keeps its namespaces to itself: then nothing can be said. */
async function readNamespace(pid: string): Promise<string | undefined> {
  return readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
}
