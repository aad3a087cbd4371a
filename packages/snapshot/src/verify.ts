// SPDX-License-Identifier: Apache-2.0
/** Compares a snapshot with its seal. The first thing that differs is named, with the file and the place in it. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import { CHUNK_BYTES, type Chunked, digestOf } from "./chunks.ts";
import { MANIFEST_FILE } from "./manifest.ts";
import { describeImage, describeLayer, IMAGES, LAYER, readSeal, type Seal } from "./seal.ts";

/** False for a snapshot that was never sealed: nothing can be said of it. */
export async function verify(folder: string): Promise<boolean> {
  const sealed = await readSeal(folder);
  if (!sealed) return false;
  await verifySizes(folder, sealed);
  if ((await digestOf(await readFile(join(folder, MANIFEST_FILE)))) !== sealed.manifest)
    throw damaged(join(folder, MANIFEST_FILE), "it was altered");
  for (const image of sealed.images) compare(join(folder, IMAGES, image.name), image, await describeImage(folder, image.name));
  compare(join(folder, LAYER), sealed.layer, await describeLayer(folder));
  return true;
}

/** What costs next to nothing: finds what is missing or cut off. */
export async function verifySizes(folder: string, sealed: Seal): Promise<void> {
  for (const { name, size } of sealed.images) {
    const path = join(folder, IMAGES, name);
    const found = await stat(path).catch(() => undefined);
    if (!found) throw damaged(path, "it is missing");
    if (found.size !== size) throw damaged(path, `it has ${found.size} bytes instead of ${size}`);
  }
  if (!(await stat(join(folder, LAYER)).catch(() => undefined))) throw damaged(join(folder, LAYER), "it is missing");
}

function compare(path: string, wanted: Chunked, found: Chunked): void {
  const at = wanted.chunks.findIndex((digest, index) => digest !== found.chunks[index]);
  if (at >= 0) {
    const end = Math.min((at + 1) * CHUNK_BYTES, wanted.size);
    throw damaged(
      path,
      path.endsWith(`/${LAYER}`) ? "a file in it was altered" : `bytes ${at * CHUNK_BYTES} to ${end} are not those that were written`,
    );
  }
  if (wanted.size !== found.size) throw damaged(path, `it has ${found.size} bytes instead of ${wanted.size}`);
}

function damaged(path: string, what: string): CollimateError {
  return new CollimateError("snapshot_damaged", `${path} is damaged: ${what}`);
}
