// SPDX-License-Identifier: Apache-2.0
import { access, readFile } from "node:fs/promises";
import { release } from "node:os";
import { fail, ok, warn } from "../finding.ts";
import type { Finding } from "../finding.ts";

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
const content = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );

export async function kernelVersion(): Promise<Finding> {
  const version = release();
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number);
  if (major > 6 || (major === 6 && minor >= 1)) return ok("kernel", version);
  return fail("kernel", `${version} is too old`, "use kernel 6.1 or newer (Debian 12 has it)");
}

export async function namespaces(): Promise<Finding> {
  const names = ["user", "pid", "mnt", "uts", "ipc", "net", "cgroup", "time"];
  const there = await Promise.all(names.map((name) => exists(`/proc/self/ns/${name}`)));
  const missing = names.filter((_, i) => there[i] === false);
  if (missing.length > 0)
    return fail(
      "namespaces",
      `the kernel lacks ${missing.join(", ")}`,
      "use a distribution kernel, or build with these CONFIG_*_NS options",
    );
  const most = Number(await content("/proc/sys/user/max_user_namespaces"));
  if (!(most >= 1_000))
    return fail(
      "namespaces",
      `user.max_user_namespaces is ${most}`,
      "sysctl -w user.max_user_namespaces=65536 (each sandbox has one of its own)",
    );
  return ok("namespaces", "all eight kinds");
}

/** What CRIU cannot work without. Whether it really works is tried by the check of criu itself. */
export async function checkpointing(): Promise<Finding> {
  const needed = {
    "/proc/self/map_files": "CONFIG_CHECKPOINT_RESTORE",
    "/proc/self/pagemap": "CONFIG_PROC_PAGE_MONITOR",
    "/proc/self/timens_offsets": "CONFIG_TIME_NS",
  };
  const missing: string[] = [];
  for (const [path, option] of Object.entries(needed)) if (!(await exists(path))) missing.push(option);
  if (missing.length > 0)
    return fail(
      "checkpointing",
      `the kernel was built without ${missing.join(", ")}`,
      "use a kernel with these options (Debian's have them)",
    );
  return ok("checkpointing", "the kernel has what CRIU needs");
}

export async function hugePages(): Promise<Finding> {
  const mode = await content("/sys/kernel/mm/transparent_hugepage/enabled");
  if (mode === undefined || mode.includes("[never]")) {
    return warn(
      "huge pages",
      "transparent huge pages are off: forks take several times as long",
      "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    );
  }
  return ok("huge pages", /\[(\w+)\]/.exec(mode)?.[1] ?? mode);
}
