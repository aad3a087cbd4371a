// SPDX-License-Identifier: Apache-2.0
import { readFile, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { size } from "../../terminal/quantity.ts";
import { fail, ok, warn } from "../finding.ts";
import type { Finding } from "../finding.ts";

const GIB = 2 ** 30;
/** statfs(2), linux/magic.h */
const TMPFS_MAGIC = 0x01021994;

export async function memoryRoom(): Promise<Finding> {
  const [, kib = "0"] = /^MemAvailable:\s*(\d+)/m.exec(await readFile("/proc/meminfo", "utf8")) ?? [];
  const available = Number(kib) * 1_024;
  if (available < GIB)
    return fail("memory", `${size(available)} available`, "free some: a template of PyTorch and its children need about 2 GiB");
  if (available < 3 * GIB) return warn("memory", `${size(available)} available`, "the quickstart wants about 3 GiB");
  return ok("memory", `${size(available)} available`);
}

/** Images, snapshots and the built tools. */
export async function diskRoom(directory: string): Promise<Finding> {
  const place = await nearestExisting(directory);
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const name = `disk (${directory})`;
  if (free < 2 * GIB) return fail(name, `${size(free)} free`, "free some: an image of PyTorch takes 3 GiB in all");
  if (free < 8 * GIB) return warn(name, `${size(free)} free`, "the quickstart with PyTorch wants about 8 GiB");
  return ok(name, `${size(free)} free`);
}

/** CRIU keeps what it knows of the kernel there; without tmpfs each start takes 75 ms more. */
export async function sharedMemory(): Promise<Finding> {
  const found = await statfs("/dev/shm").catch(() => undefined);
  if (found?.type !== TMPFS_MAGIC) return fail("/dev/shm", "is not a tmpfs", "mount -t tmpfs tmpfs /dev/shm");
  return ok("/dev/shm", `tmpfs, ${size(found.bavail * found.bsize)} free`);
}

/** The root always exists, so this ends. */
async function nearestExisting(path: string): Promise<string> {
  const there = await statfs(path).then(
    () => true,
    () => false,
  );
  return there || path === dirname(path) ? path : nearestExisting(dirname(path));
}
