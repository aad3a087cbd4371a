// SPDX-License-Identifier: Apache-2.0
/**
 * A file that is open under a name which it has lost, but which lives on (under another name, or as a file of a layer
 * below): criu gives it a name for the time of the dump, `link_remap.N` beside the lost one. The copy of the writable
 * layer was begun before that, so these names are brought in afterwards.
 */
import { link, lstat, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runProgram } from "../program.ts";

/** An image of criu without entries is nothing but its two magic numbers. */
const EMPTY_IMAGE_BYTES = 8;
const LIMIT_MS = 60_000;

/** `root` is the file system as the sandbox, which stands still, sees it. */
export async function copyGivenNames(images: string, upper: string, copy: string, root: string): Promise<void> {
  const remaps = await stat(join(images, "remap-fpath.img")).catch(() => undefined);
  if (!remaps || remaps.size <= EMPTY_IMAGE_BYTES) return;
  for (const name of await namesBelow(upper, ["-name", "link_remap.*"])) {
    await copyName(name, upper, copy);
    await copyTwins(name, copy, root);
  }
}

/**
 * The file's other names beside it (a POSIX semaphore is opened under one and known by another) may be in a layer below,
 * which has the file as it was before it was written: without their like in the copy they would become another file.
 */
async function copyTwins(name: string, copy: string, root: string): Promise<void> {
  // One of an earlier dump is a mark of its removal by now.
  if (!(await lstat(join(root, name)).catch(() => undefined))) return;
  const folder = dirname(name);
  for (const twin of await namesBelow(join(root, folder), ["-maxdepth", "1", "-samefile", join(root, name)])) {
    const target = join(copy, folder, twin);
    if (!(await lstat(target).catch(() => undefined))) await link(join(copy, name), target);
  }
}

async function copyName(name: string, upper: string, copy: string): Promise<void> {
  const target = join(copy, name);
  // The copy may have met it already.
  if (await stat(target).catch(() => undefined)) return;
  const twins = (await namesBelow(upper, ["-samefile", join(upper, name)])).filter((twin) => twin !== name);
  for (const twin of twins) {
    if (
      await link(join(copy, twin), target).then(
        () => true,
        () => false,
      )
    )
      return;
  }
  const copied = await runProgram(["cp", "-a", "--reflink=auto", "--no-target-directory", join(upper, name), target], {
    timeoutMs: LIMIT_MS,
  });
  if (!copied.ok) throw new Error(`an open file without a name could not be copied to ${dirname(name)}: ${copied.said}`);
}

/** Paths below a folder, relative to it, of one file system. */
async function namesBelow(folder: string, test: readonly string[]): Promise<string[]> {
  const found = await runProgram(["find", folder, "-xdev", ...test, "-printf", "%P\\0"], { timeoutMs: LIMIT_MS });
  if (!found.ok) throw new Error(`the writable layer could not be searched: ${found.said}`);
  return found.stdout.split("\0").filter(Boolean);
}
