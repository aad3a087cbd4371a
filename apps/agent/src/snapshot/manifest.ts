// SPDX-License-Identifier: Apache-2.0
/** What a snapshot is made of. The manifest is written last: a folder without one is debris. */
import { resourcesSchema } from "@collimate/contracts";
import { z } from "zod";

export const manifestSchema = z.object({
  format: z.literal(1),
  id: z.string(),
  /** template: a bake's; fork: lives while children need its layer; suspend: of one sandbox, until it is resumed. */
  kind: z.enum(["template", "fork", "suspend"]),
  templateId: z.string(),
  imageDigest: z.string(),
  /** The guest layer that its init runs from. */
  guestLayer: z.string(),
  /** Ids of the snapshots whose writable layers lie below, top to bottom; this one's own comes first. */
  layers: z.array(z.string()),
  workdir: z.string(),
  user: z.string(),
  ports: z.array(z.number()),
  /** Whether it had an interface to the outside; who is restored from it gets one too. */
  network: z.boolean().default(false),
  resources: resourcesSchema,
  /** Bytes of process memory in the images. */
  privateBytes: z.number(),
  kernel: z.string(),
  criu: z.string(),
  createdAt: z.string(),
});
export type Manifest = z.infer<typeof manifestSchema>;
