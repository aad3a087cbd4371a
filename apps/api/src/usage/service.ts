// SPDX-License-Identifier: Apache-2.0
/** What was used: running time only, exact to the millisecond. */
import { CollimateError } from "@collimate/contracts";
import type { UsageReply } from "@collimate/contracts";
import { z } from "zod";
import type { Rates } from "../config.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";

const WINDOW_DEFAULT_MS = 30 * 86_400_000;

const rowSchema = z.object({ sandboxes: z.coerce.number(), live: z.coerce.number(), vcpu: z.coerce.number(), mib: z.coerce.number() });

/** Sums in thousandths: of a second, a vCPU-second, a MiB-second. */
export interface LiveSums {
  readonly sandboxes: number;
  readonly liveMs: number;
  readonly vcpuMs: number;
  readonly mibMs: number;
}

/** Rounded once, at the end, to a whole millionth; a sum of parts is never more than a half off. */
export function costMicros(sums: LiveSums, rates: Rates): number {
  return Math.round((sums.vcpuMs * rates.vcpuSecondMicros + (sums.mibMs / 1_024) * rates.gibSecondMicros) / 1_000);
}

export interface Window {
  readonly from: Date;
  readonly to: Date;
}

export function usageWindow(query: { from?: string | undefined; to?: string | undefined }, now: Date): Window {
  const to = query.to === undefined ? now : new Date(query.to);
  const from = query.from === undefined ? new Date(to.getTime() - WINDOW_DEFAULT_MS) : new Date(query.from);
  if (from > to) throw new CollimateError("bad_request", "from: is later than to");
  return { from, to };
}

export class UsageService {
  readonly #platform: Platform;
  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async totals(caller: Caller, query: { from?: string | undefined; to?: string | undefined }): Promise<UsageReply> {
    const now = new Date();
    const { from, to } = usageWindow(query, now);
    const sums = await this.#sums(caller.tenantId, { from, to: to > now ? now : to }, now);
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      totals: {
        sandboxes: sums.sandboxes,
        live_seconds: sums.liveMs / 1_000,
        vcpu_seconds: sums.vcpuMs / 1_000,
        memory_gib_seconds: sums.mibMs / 1_024 / 1_000,
        cost_micros: costMicros(sums, this.#platform.config.rates),
      },
    };
  }

  /** Each interval cut to the window; one that is still open runs until now. */
  async #sums(tenantId: string, window: Window, now: Date): Promise<LiveSums> {
    const rows = await this.#platform.database.client.$queryRaw`
      SELECT count(DISTINCT "sandboxId") AS sandboxes,
             coalesce(sum(ms), 0) AS live,
             coalesce(sum(ms * "vcpus"::numeric), 0) AS vcpu,
             coalesce(sum(ms * "memoryMib"), 0) AS mib
        FROM (SELECT "sandboxId", "vcpus", "memoryMib",
                     round(extract(epoch FROM least(coalesce("endedAt", ${now}::timestamptz), ${window.to}::timestamptz) - greatest("startedAt", ${window.from}::timestamptz)) * 1000) AS ms
                FROM "meter_intervals"
               WHERE "tenantId" = ${tenantId} AND "startedAt" < ${window.to}::timestamptz AND ("endedAt" IS NULL OR "endedAt" > ${window.from}::timestamptz)) AS cut
       WHERE ms > 0`;
    const [row] = z.array(rowSchema).parse(rows);
    return { sandboxes: row?.sandboxes ?? 0, liveMs: row?.live ?? 0, vcpuMs: row?.vcpu ?? 0, mibMs: row?.mib ?? 0 };
  }
}
