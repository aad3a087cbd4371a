// SPDX-License-Identifier: Apache-2.0
import type { SandboxRegistry } from "./registry.ts";

/** Which sandboxes ran something, or had a file go in or out, since the last time asked; `count`: execs since then. */
export class ActivityLog {
  readonly #registry: SandboxRegistry;
  readonly #told = new Map<string, { count: number; at: number }>();

  constructor(registry: SandboxRegistry) {
    this.#registry = registry;
  }

  take(): { sandboxId: string; count: number; lastAt: number }[] {
    const live = this.#registry.all();
    const news = live.flatMap((sandbox) => {
      const told = this.#told.get(sandbox.id) ?? { count: 0, at: sandbox.startedAt };
      if (sandbox.lastActiveAt === told.at && sandbox.execCount === told.count) return [];
      return [{ sandboxId: sandbox.id, count: sandbox.execCount - told.count, lastAt: sandbox.lastActiveAt }];
    });
    this.#told.clear();
    for (const sandbox of live) this.#told.set(sandbox.id, { count: sandbox.execCount, at: sandbox.lastActiveAt });
    return news;
  }
}
