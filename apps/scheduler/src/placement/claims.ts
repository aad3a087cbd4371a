// SPDX-License-Identifier: Apache-2.0
/**
 * Who already waits in this pass, and for what. Room that comes free while the pass goes on belongs to them: a later operation
 * takes only what an earlier one could not have used.
 */
import type { OperationKind } from "@collimate/contracts";
import type { Need } from "../node/room.ts";
import type { Waits } from "./outcome.ts";

interface Claim {
  readonly tenantId: string;
  readonly need: Need;
  /** It has waited so long that its nodes are kept for it, even from smaller ones. */
  readonly starving: boolean;
}

export interface Claimant {
  readonly tenantId: string;
  readonly kind: OperationKind;
  readonly templateId: string | null;
}

/** These may go to any node, so that the next of the same tenant and template would only meet what the last has met. */
const ANYWHERE: readonly OperationKind[] = ["create", "bake"];

export class Claims {
  /** How many wait, by why. */
  readonly waiting = new Map<Waits["why"], number>([
    ["no_room", 0],
    ["no_node", 0],
    ["not_ready", 0],
  ]);
  readonly #byNode = new Map<string, Claim[]>();
  readonly #queues = new Map<string, Waits["why"]>();
  #noNodes = false;

  add(claimant: Claimant, waits: Waits, starving: boolean): void {
    this.#count(waits.why);
    if (ANYWHERE.includes(claimant.kind)) {
      this.#queues.set(queueOf(claimant), waits.why);
      if (waits.why === "no_node") this.#noNodes = true;
    }
    for (const node of waits.full) {
      const claims = this.#byNode.get(node) ?? [];
      claims.push({ tenantId: claimant.tenantId, need: waits.need, starving });
      this.#byNode.set(node, claims);
    }
  }

  /** Would wait like one before it: it need not even be tried. Counted as waiting. */
  isBehind(claimant: Claimant): boolean {
    if (!ANYWHERE.includes(claimant.kind)) return false;
    const why = this.#noNodes ? "no_node" : this.#queues.get(queueOf(claimant));
    if (why === undefined) return false;
    this.#count(why);
    return true;
  }

  /** A tenant does not overtake itself on a node, nobody one who starves, and nobody one who needs no more. */
  mayTake(tenantId: string, nodeId: string, need: Need): boolean {
    const claims = this.#byNode.get(nodeId) ?? [];
    return !claims.some(
      (claim) => claim.starving || claim.tenantId === tenantId || (claim.need.slots <= need.slots && claim.need.mib <= need.mib),
    );
  }

  #count(why: Waits["why"]): void {
    this.waiting.set(why, (this.waiting.get(why) ?? 0) + 1);
  }
}

function queueOf({ tenantId, kind, templateId }: Claimant): string {
  return kind === "bake" ? `${tenantId} ${kind}` : `${tenantId} ${kind} ${templateId ?? ""}`;
}
