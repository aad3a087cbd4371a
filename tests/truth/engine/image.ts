// SPDX-License-Identifier: Apache-2.0
/** Puts the suite's image where the engine keeps unpacked images, straight from its layout: no registry, no second copy. */
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { run } from "./programs.ts";

const descriptor = z.object({ digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) });
const indexSchema = z.object({ manifests: z.array(descriptor).min(1) });
const manifestSchema = z.object({ config: descriptor });

/** @returns a reference by digest, which the engine finds unpacked, and where it is */
export async function stageImage(layout: string, store: string): Promise<{ reference: string; rootfs: string }> {
  const blob = (digest: string) => readFile(join(layout, "blobs", ...digest.split(":")), "utf8");
  const index = indexSchema.parse(JSON.parse(await readFile(join(layout, "index.json"), "utf8")));
  const digest = index.manifests[0]?.digest ?? "";
  const target = join(store, digest.replace(":", "-"));
  const staged = { reference: `localhost/collimate/truth@${digest}`, rootfs: join(target, "rootfs") };
  if (await stat(join(target, "config.json")).catch(() => undefined)) return staged;

  const manifest = manifestSchema.parse(JSON.parse(await blob(digest)));
  await mkdir(store, { recursive: true });
  const fresh = await mkdtemp(join(store, "unpack-"));
  try {
    await run("umoci", ["raw", "unpack", "--image", `${layout}:latest`, join(fresh, "rootfs")]);
    await writeFile(join(fresh, "config.json"), await blob(manifest.config.digest));
    await rename(fresh, target);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return staged;
}
