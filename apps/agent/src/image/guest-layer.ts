// SPDX-License-Identifier: Apache-2.0
/**
 * The layer above every image: init, device nodes, mount points. Ids on disk are the ids inside (0 = root inside).
 * /tmp is left to the image (it may be a symbolic link there); init makes it where an image has none.
 */
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../program.ts";

/** Where the layer of a build lies. */
export const guestLayerOf = (folder: string, build: string): string => join(folder, build, "layer");

/** The builds that this node has. */
export async function guestBuilds(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => BUILD.test(name));
}

const BUILD = /^[0-9a-f]{16}$/;

/** Path of init inside a sandbox. */
export const INIT_PATH = "/.collimate/init";

/** Linux's own numbers for the memory devices (Documentation/admin-guide/devices.txt). */
const DEVICES = [
  ["null", 1, 3],
  ["zero", 1, 5],
  ["full", 1, 7],
  ["random", 1, 8],
  ["urandom", 1, 9],
  ["tty", 5, 0],
] as const;

const LINKS = [
  ["/proc/self/fd", "fd"],
  ["/proc/self/fd/0", "stdin"],
  ["/proc/self/fd/1", "stdout"],
  ["/proc/self/fd/2", "stderr"],
  ["pts/ptmx", "ptmx"],
] as const;

const FOLDERS = [
  ["dev", 0o755],
  ["dev/shm", 0o1777],
  ["dev/pts", 0o755],
  ["proc", 0o555],
  ["etc", 0o755],
  [".collimate", 0o755],
] as const;

/** Makes the layer for this build of init and names the build. Another init or layout gets a new folder: snapshots name the build they ran on. */
export async function ensureGuestLayer(folder: string, initBinary: string): Promise<string> {
  const hash = createHash("sha256")
    .update(await readFile(initBinary))
    .update(JSON.stringify([FOLDERS, DEVICES, LINKS]))
    .digest("hex")
    .slice(0, 16);
  const target = join(folder, hash);
  if (await stat(join(target, "complete")).catch(() => undefined)) return hash;
  const work = await mkdtemp(join(folder, "make-"));
  const layer = join(work, "layer");
  for (const [name, mode] of FOLDERS) {
    await mkdir(join(layer, name), { recursive: true });
    await chmod(join(layer, name), mode);
  }
  await chmod(layer, 0o755);
  for (const [name, major, minor] of DEVICES) {
    const made = await runProgram(["mknod", "-m", "666", join(layer, "dev", name), "c", String(major), String(minor)], {
      timeoutMs: 10_000,
    });
    if (!made.ok) throw new Error(`cannot make the device node ${name}: ${made.said}`);
  }
  for (const [to, name] of LINKS) await symlink(to, join(layer, "dev", name));
  await writeFile(join(layer, "etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n");
  await copyFile(initBinary, join(layer, INIT_PATH));
  await chmod(join(layer, INIT_PATH), 0o755);
  await writeFile(join(work, "complete"), "");
  await rm(target, { recursive: true, force: true });
  await rename(work, target);
  return hash;
}
