// SPDX-License-Identifier: Apache-2.0
/**
 * A seal makes a snapshot an artifact: it lists every file by size and by the SHA-256 of its chunks. Written when a
 * snapshot is meant to last (a bake, a suspend), never on the way of a fork.
 */
import { open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import { z } from "zod";
import { CHUNK_BYTES, type Chunked, chunkedSchema, describeChunks, digestOf, digestSchema, fileChunks, streamChunks } from "./chunks.ts";
import { packLayer } from "./layer.ts";
import { MANIFEST_FILE } from "./manifest.ts";

export const SEAL_FILE = "seal.json";
export const IMAGES = "images";
export const LAYER = "upper";
/** What a restore reads. Logs, statistics and the holder's table are made anew on every node. */
const IMAGE_NAME = /^[A-Za-z0-9_.-]+\.img$/;

export const sealSchema = z.object({
  format: z.literal(2),
  chunkBytes: z.literal(CHUNK_BYTES),
  /** Of the manifest's bytes. */
  manifest: digestSchema,
  images: z.array(z.object({ name: z.string().regex(IMAGE_NAME) }).and(chunkedSchema)),
  /** The writable layer as a tar stream. */
  layer: chunkedSchema,
});
export type Seal = z.infer<typeof sealSchema>;

export async function imageNames(folder: string): Promise<string[]> {
  // Of a fork that only lies below others nothing but its layer is left.
  const names = await readdir(join(folder, IMAGES)).catch(() => []);
  return names.filter((name) => IMAGE_NAME.test(name)).toSorted();
}

export const describeImage = (folder: string, name: string): Promise<Chunked> => describeChunks(fileChunks(join(folder, IMAGES, name)));
export const describeLayer = (folder: string): Promise<Chunked> => describeChunks(streamChunks(packLayer(join(folder, LAYER))));

export async function describeFolder(folder: string): Promise<Pick<Seal, "images" | "layer">> {
  const images: Seal["images"] = [];
  for (const name of await imageNames(folder)) images.push({ name, ...(await describeImage(folder, name)) });
  return { images, layer: await describeLayer(folder) };
}

/** Reads the whole snapshot once. What it says is on disk for good when it returns. */
export async function seal(folder: string): Promise<Seal> {
  const contents = await describeFolder(folder);
  for (const { name } of contents.images) await sync(join(folder, IMAGES, name));
  const made: Seal = {
    format: 2,
    chunkBytes: CHUNK_BYTES,
    manifest: await digestOf(await readFile(join(folder, MANIFEST_FILE))),
    ...contents,
  };
  await writeSeal(folder, made);
  return made;
}

export async function writeSeal(folder: string, made: Seal): Promise<void> {
  const fresh = join(folder, `${SEAL_FILE}.new`);
  await writeFile(fresh, JSON.stringify(made), { flush: true });
  await rename(fresh, join(folder, SEAL_FILE));
}

/** Undefined where there is none; one that cannot be read is damage. */
export async function readSeal(folder: string): Promise<Seal | undefined> {
  const path = join(folder, SEAL_FILE);
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return sealSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new CollimateError("snapshot_damaged", `${path} cannot be read: it is not the list of checksums that was written`, {
      cause: error,
    });
  }
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}

/** Its images are gone and only its layer is still needed; the manifest may have changed with that. */
export async function sealLayerAlone(folder: string): Promise<void> {
  const sealed = await readSeal(folder).catch(() => undefined);
  if (!sealed) return;
  await writeSeal(folder, { ...sealed, images: [], manifest: await digestOf(await readFile(join(folder, MANIFEST_FILE))) });
}
