// SPDX-License-Identifier: Apache-2.0
import { isPlatforms } from "./owner.ts";
import type { SandboxRegistry } from "./registry.ts";

/** Which of the platform's sandboxes ran something since the last time asked. */
export class ActivityLog {
  readonly #registry: SandboxRegistry;
  readonly #told = new Map<string, number>();

  constructor(registry: SandboxRegistry) {
    this.#registry = registry;
  }

  take(): { sandboxId: string; count: number; lastAt: number }[] {
    const live = this.#registry.all().filter(isPlatforms);
    const changed = live.filter((sandbox) => sandbox.execCount !== (this.#told.get(sandbox.id) ?? 0));
    this.#told.clear();
    for (const sandbox of live) this.#told.set(sandbox.id, sandbox.execCount);
    return changed.map((sandbox) => ({ sandboxId: sandbox.id, count: sandbox.execCount, lastAt: sandbox.lastActiveAt }));
  }
}
