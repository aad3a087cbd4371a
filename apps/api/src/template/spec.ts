// SPDX-License-Identifier: Apache-2.0
/** What a template is made of. Widths are no part of it: they say how many, not what. */
import { CollimateError, needsNetwork, readySchema, resourcesSchema } from "@collimate/contracts";
import type { CreateTemplate, Ready, Resources, Tier } from "@collimate/contracts";
import { TIER_LIMITS } from "@collimate/contracts";
import { z } from "zod";
import { canonicalJson, sha256 } from "../operation/idempotency.ts";

/** The `spec` column. */
export const templateSpecSchema = z.object({ ready: readySchema, resources: resourcesSchema });
export interface TemplateSpec {
  readonly ready: Ready;
  readonly resources: Resources;
}

export function specOf(body: CreateTemplate): TemplateSpec {
  return { ready: body.ready ?? {}, resources: resourcesSchema.parse(body.resources ?? {}) };
}

/** Equal for equal bodies, in whatever order their fields came. */
export function specHash(image: string, spec: TemplateSpec): string {
  return sha256(canonicalJson({ image, ...spec }));
}

export function checkTier(tier: Tier, spec: TemplateSpec): void {
  if (!TIER_LIMITS[tier].network && needsNetwork(spec.ready)) {
    throw new CollimateError("network_requires_pro", "ready: ports, http and network need a pro key");
  }
}

/** The width that a plan can use. */
export function clampWidth(tier: Tier, width: number): number {
  return Math.min(width, TIER_LIMITS[tier].liveSandboxes);
}
