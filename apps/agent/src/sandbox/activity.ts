// SPDX-License-Identifier: Apache-2.0
import { isPlatforms } from "./owner.ts";
import type { Sandbox } from "./sandbox.ts";

export interface Activity {
  readonly sandboxId: string;
  /** Execs begun since the last time asked. */
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
}

type Seen = Pick<Sandbox, "id" | "tenantId" | "snapshotId" | "startedAt" | "execCount" | "execsRunning" | "lastActiveAt">;

/** Which of the platform's sandboxes are running something, or ran something, or had a file go in or out, since the last time asked. */
export class ActivityLog {
  readonly #registry: { all(): readonly Seen[] };
  readonly #told = new Map<string, { count: number; at: number }>();

  constructor(registry: { all(): readonly Seen[] }) {
    this.#registry = registry;
  }

  take(now = Date.now()): Activity[] {
    const live = this.#registry.all().filter(isPlatforms);
    const news = live.flatMap((sandbox) => {
      const told = this.#told.get(sandbox.id) ?? { count: 0, at: sandbox.startedAt };
      const running = sandbox.execsRunning > 0;
      if (!running && sandbox.lastActiveAt === told.at && sandbox.execCount === told.count) return [];
      // A long exec is told each time: silence would let the sandbox be taken for idle under it.
      return [{ sandboxId: sandbox.id, count: sandbox.execCount - told.count, lastAt: running ? now : sandbox.lastActiveAt }];
    });
    this.#told.clear();
    for (const sandbox of live) this.#told.set(sandbox.id, { count: sandbox.execCount, at: sandbox.lastActiveAt });
    return news;
  }
}
