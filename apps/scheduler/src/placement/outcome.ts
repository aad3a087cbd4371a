// SPDX-License-Identifier: Apache-2.0
import type { Need } from "../node/room.ts";

/** It stays queued. `full`: the nodes that would do and have no room for the `need`. */
export interface Waits {
  readonly kind: "waits";
  readonly why: "no_room" | "no_node" | "not_ready";
  readonly full: readonly string[];
  readonly need: Need;
}

/** What came of trying to place an operation. */
export type Outcome =
  | { readonly kind: "placed" }
  /** It ended at once: done without a node, or failed because it can never be done. */
  | { readonly kind: "ended" }
  /** Someone else has it. */
  | { readonly kind: "taken" }
  | Waits;

const NOTHING: Need = { mib: 0, slots: 0 };
export const PLACED: Outcome = { kind: "placed" };
export const ENDED: Outcome = { kind: "ended" };
export const TAKEN: Outcome = { kind: "taken" };
export const NO_NODE: Waits = { kind: "waits", why: "no_node", full: [], need: NOTHING };
export const NOT_READY: Waits = { kind: "waits", why: "not_ready", full: [], need: NOTHING };
export function noRoom(full: readonly string[], need: Need): Waits {
  return { kind: "waits", why: "no_room", full, need };
}
