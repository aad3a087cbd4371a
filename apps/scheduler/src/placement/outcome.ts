// SPDX-License-Identifier: Apache-2.0
/** What came of trying to place an operation. */
export type Outcome =
  | { readonly kind: "placed" }
  /** It ended at once: done without a node, or failed because it can never be done. */
  | { readonly kind: "ended" }
  /** Someone else has it. */
  | { readonly kind: "taken" }
  /** It stays queued. `full`: nodes that would do and have no room. */
  | { readonly kind: "waits"; readonly why: "no_room" | "no_node" | "not_ready"; readonly full: readonly string[] };

export const PLACED: Outcome = { kind: "placed" };
export const ENDED: Outcome = { kind: "ended" };
export const TAKEN: Outcome = { kind: "taken" };
export const NO_NODE: Outcome = { kind: "waits", why: "no_node", full: [] };
export const NOT_READY: Outcome = { kind: "waits", why: "not_ready", full: [] };
export function noRoom(full: readonly string[]): Outcome {
  return { kind: "waits", why: "no_room", full };
}
