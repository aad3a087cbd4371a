// SPDX-License-Identifier: Apache-2.0
/** The OCI image manifest that a snapshot travels as: config = our manifest, first layer = the seal, the others its chunks. */
import { z } from "zod";
import { CHUNK_BYTES, digestSchema } from "../chunks.ts";
import { OCI_MANIFEST } from "./client.ts";

export const ARTIFACT = "application/vnd.collimate.snapshot.v2";
export const MANIFEST_TYPE = "application/vnd.collimate.snapshot.manifest.v2+json";
export const SEAL_TYPE = "application/vnd.collimate.snapshot.seal.v2+json";
export const CHUNK_TYPES = {
  plain: "application/vnd.collimate.snapshot.chunk.v2",
  zstd: "application/vnd.collimate.snapshot.chunk.v2+zstd",
} as const;
/** Names, in a chunk's descriptor, the digest of its bytes before they were compressed. */
export const CONTENT = "dev.collimate.content";
/** Of a manifest or a seal: 256 GiB of memory need 8 MiB of digests. */
export const TEXT_MAX = 64 * 2 ** 20;

const descriptorSchema = z.object({
  mediaType: z.string(),
  digest: digestSchema,
  size: z.number().int().min(0).max(TEXT_MAX),
  annotations: z.record(z.string(), z.string()).optional(),
});
export type Descriptor = z.infer<typeof descriptorSchema>;

const chunkSchema = z.object({
  mediaType: z.enum([CHUNK_TYPES.plain, CHUNK_TYPES.zstd]),
  digest: digestSchema,
  size: z.number().int().min(0).max(CHUNK_BYTES),
  annotations: z.object({ [CONTENT]: digestSchema }),
});
export type ChunkDescriptor = z.infer<typeof chunkSchema>;

export const artifactSchema = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.literal(OCI_MANIFEST),
  artifactType: z.literal(ARTIFACT),
  config: descriptorSchema.extend({ mediaType: z.literal(MANIFEST_TYPE) }),
  layers: z.tuple([descriptorSchema.extend({ mediaType: z.literal(SEAL_TYPE) })], chunkSchema),
});
export type Artifact = z.infer<typeof artifactSchema>;
