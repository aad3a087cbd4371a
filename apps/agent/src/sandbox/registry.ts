// SPDX-License-Identifier: Apache-2.0
/** The sandboxes that live on this node. */
import { CollimateError } from "@collimate/contracts";
import type { Sandbox } from "./sandbox.ts";

export class SandboxRegistry {
  readonly #byId = new Map<string, Sandbox>();
  #added: (sandbox: Sandbox) => void = () => {};

  /** Called with each sandbox that comes to live here. */
  onAdd(listener: (sandbox: Sandbox) => void): void {
    this.#added = listener;
  }

  add(sandbox: Sandbox): void {
    if (this.#byId.has(sandbox.id)) throw new CollimateError("conflict", `sandbox ${sandbox.id} lives here already`);
    this.#byId.set(sandbox.id, sandbox);
    this.#added(sandbox);
  }

  find(id: string): Sandbox | undefined {
    return this.#byId.get(id);
  }

  /** A sandbox that takes new work. */
  live(id: string): Sandbox {
    const sandbox = this.#byId.get(id);
    if (!sandbox) throw new CollimateError("not_found", `sandbox ${id} does not live on this node`);
    if (sandbox.ending) throw new CollimateError("session_gone", `sandbox ${id} has ended`);
    return sandbox;
  }

  remove(id: string): void {
    this.#byId.delete(id);
  }

  all(): Sandbox[] {
    return [...this.#byId.values()];
  }

  get size(): number {
    return this.#byId.size;
  }
}
