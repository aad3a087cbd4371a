// SPDX-License-Identifier: Apache-2.0
import { LIVE_STATES } from "@collimate/contracts";
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";

export const VERSION = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))).version;
const READY_MS = 2_000;

export interface Health {
  readonly status: "ok" | "draining";
  readonly version: string;
}

/** The daemon surface's figures (wire contract, section 7), those of one tenant. */
export interface TenantHealth extends Health {
  readonly sessions: number;
  readonly running: number;
  readonly queued: number;
  readonly max_inflight: number;
  readonly templates: string[];
}

export class HealthService {
  readonly #platform: Platform;
  constructor(platform: Platform) {
    this.#platform = platform;
  }

  health(): Health {
    return { status: this.#platform.stopping.aborted ? "draining" : "ok", version: VERSION };
  }

  async ofTenant(caller: Caller, maxInflight: number): Promise<TenantHealth> {
    const scope = new TenantScope(this.#platform.database.client, caller.tenantId);
    const [sandboxes, templates] = await Promise.all([scope.sandboxes(), scope.templates()]);
    const live = sandboxes.filter((row) => LIVE_STATES.some((state) => state === row.state));
    return {
      ...this.health(),
      sessions: live.length,
      running: live.filter((row) => row.state === "running").length,
      queued: live.filter((row) => row.state === "requested" || row.state === "placing").length,
      max_inflight: maxInflight,
      templates: templates.filter((row) => row.phase === "Live").map((row) => row.id),
    };
  }

  /** What is missing for doing any work, or nothing. */
  async missing(): Promise<string[]> {
    const { database, bus, stopping } = this.#platform;
    const checks = await Promise.all([check("postgres", database.ping()), check("redis", bus.ping())]);
    return [...checks.flat(), ...(stopping.aborted ? ["stopping"] : [])];
  }
}

async function check(name: string, answer: Promise<unknown>): Promise<string[]> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("late")), READY_MS);
  try {
    await Promise.race([answer, late.promise]);
    return [];
  } catch {
    return [name];
  } finally {
    clearTimeout(timer);
  }
}
