// SPDX-License-Identifier: Apache-2.0
/** Usage: live time only. */
import { z } from "zod";

export const usageQuerySchema = z.object({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
});

/** Seconds are exact to the millisecond; `cost_micros` is millionths of the currency unit. */
export const usageTotalsSchema = z.object({
  sandboxes: z.int(),
  live_seconds: z.number(),
  vcpu_seconds: z.number(),
  memory_gib_seconds: z.number(),
  cost_micros: z.number(),
});
export const usageReplySchema = z.object({ from: z.string(), to: z.string(), totals: usageTotalsSchema });
export type UsageReply = z.infer<typeof usageReplySchema>;
