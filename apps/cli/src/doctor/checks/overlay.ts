// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hostd } from "@collimate/host";
import { fail, ok } from "../finding.ts";
import type { Finding } from "../finding.ts";

/** The last slot number: no sandbox has it. */
const TRIAL_SLOT = 65_000;
const IDS_PER_SLOT = 65_536;

/** Really mounts an overlay of idmapped layers, in a mount namespace of its own, and looks through it. */
export async function overlayOnMappedLayers(tools: string): Promise<Finding> {
  const dir = await mkdtemp(join(tmpdir(), "collimate-doctor-"));
  try {
    await using daemon = await Hostd.start({
      binary: join(tools, "host", "collimate-hostd"),
      socket: join(dir, "hostd.sock"),
      launcher: ["/usr/bin/unshare", "--mount", "--propagation", "private", "--"],
    });
    await tryOverlay(daemon, dir);
    return ok("overlay", "layers with mapped ids work");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail(
      "overlay",
      reason,
      `use a kernel with overlay on idmapped mounts (6.1 or newer), and a local file system (ext4, xfs, btrfs) for ${tmpdir()} and the state directory`,
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function tryOverlay(daemon: Hostd, dir: string): Promise<void> {
  for (const name of ["lower", "upper", "work", "target"]) await mkdir(join(dir, name));
  await writeFile(join(dir, "lower", "word"), "seen");
  await daemon.client.createUserns(TRIAL_SLOT, (16 + TRIAL_SLOT) * IDS_PER_SLOT);
  await daemon.client.mountOverlay({ slot: TRIAL_SLOT, target: join(dir, "target"), lower: [join(dir, "lower")], base: dir });
  try {
    // The mount is in the daemon's namespace only: look through its root.
    const word = await readFile(join("/proc", String(daemon.pid), "root", dir, "target", "word"), "utf8");
    if (word !== "seen") throw new Error("the overlay does not show its lower layer");
  } finally {
    await daemon.client.umount(join(dir, "target"));
  }
}
