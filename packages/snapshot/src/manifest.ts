// SPDX-License-Identifier: Apache-2.0
/** What a snapshot is made of. The manifest is written last: a folder without one is debris. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { idSchema, resourcesSchema } from "@collimate/contracts";
import { z } from "zod";

export const MANIFEST_FILE = "manifest.json";

export const manifestSchema = z.object({
  format: z.literal(2),
  id: idSchema,
  /** template: a bake's; fork: lives while children need its layer; suspend: of one sandbox, until it is resumed. */
  kind: z.enum(["template", "fork", "suspend"]),
  templateId: idSchema,
  /** By digest, so that any node can fetch the same one. */
  image: z.string(),
  imageDigest: z.string(),
  /** The build of the guest layer that its init runs from. */
  guest: z.string().regex(/^[0-9a-f]{16}$/),
  /** The snapshot that its images are a difference from; null: they are whole. */
  base: idSchema.nullable(),
  /** Ids of the snapshots whose writable layers lie below, top to bottom; this one's own comes first. */
  layers: z.array(idSchema).min(1),
  workdir: z.string(),
  user: z.string(),
  ports: z.array(z.number()),
  /** Whether it had an interface to the outside; who is restored from it gets one too. */
  network: z.boolean(),
  resources: resourcesSchema,
  /** Bytes of process memory in the images. */
  privateBytes: z.number(),
  kernel: z.string(),
  criu: z.string(),
  arch: z.string(),
  /** Of the processor that it was taken on, sorted: a program may have chosen its code by them. */
  cpuFeatures: z.array(z.string()),
  createdAt: z.string(),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** Undefined for a folder without a manifest that can be read: a snapshot that never was finished. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const text = await readFile(join(folder, MANIFEST_FILE), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
