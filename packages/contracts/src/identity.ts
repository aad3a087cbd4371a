// SPDX-License-Identifier: Apache-2.0
/** Ids, API keys and tiers. */
import { z } from "zod";

/** Published clients put ids into paths unescaped (wire contract, section 1), so only these characters are ever issued. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_-]{1,80}$/, "an id has only letters, digits, _ and -");

export const ID_PREFIX = {
  tenant: "ten",
  key: "key",
  template: "tpl",
  snapshot: "snp",
  sandbox: "sb",
  operation: "op",
  node: "node",
  request: "req",
  exec: "ex",
} as const;
export type IdKind = keyof typeof ID_PREFIX;

/** A fresh id: `<prefix>_<24 hex digits>` (96 random bits). */
export function newId(kind: IdKind): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `${ID_PREFIX[kind]}_${Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("")}`;
}

export const tierSchema = z.enum(["demo", "pro", "ent"]);
export type Tier = z.infer<typeof tierSchema>;

/** Limits by tier. `forkPerCall` is at least what published clients send in one request (wire contract, section 2). */
export const TIER_LIMITS = {
  demo: { forkPerCall: 4, liveSandboxes: 8, bake: false, network: false, expect: false },
  pro: { forkPerCall: 1024, liveSandboxes: 10_000, bake: true, network: true, expect: true },
  ent: { forkPerCall: 4096, liveSandboxes: 100_000, bake: true, network: true, expect: true },
} as const satisfies Record<Tier, { forkPerCall: number; liveSandboxes: number; bake: boolean; network: boolean; expect: boolean }>;

/** `col_<tier>_<id8>_<secret32>` */
export const API_KEY = /^col_(demo|pro|ent)_([a-z0-9]{8})_([a-z0-9]{32})$/;
