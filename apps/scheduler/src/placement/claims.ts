// SPDX-License-Identifier: Apache-2.0
/**
 * Who waits for which nodes, within one pass. A tenant's later operations do not overtake its earlier ones on a node, and
 * nobody's take the room for which another has waited too long.
 */
export class Claims {
  readonly waiting = new Map<string, number>([["no_room", 0], ["no_node", 0], ["not_ready", 0]]);
  readonly #byTenant = new Map<string, Set<string>>();
  readonly #starving = new Set<string>();

  add(tenantId: string, why: string, nodes: readonly string[], starving: boolean): void {
    this.waiting.set(why, (this.waiting.get(why) ?? 0) + 1);
    const own = this.#byTenant.get(tenantId) ?? new Set();
    this.#byTenant.set(tenantId, own);
    for (const node of nodes) {
      own.add(node);
      if (starving) this.#starving.add(node);
    }
  }

  /** Nodes on which the tenant's next operation takes no room. */
  keptFree(tenantId: string): ReadonlySet<string> {
    return new Set([...this.#starving, ...(this.#byTenant.get(tenantId) ?? [])]);
  }
}
