// SPDX-License-Identifier: Apache-2.0
import type { FastifyReply } from "fastify";
import { watchCaller } from "../server/caller-gone.ts";
import type { Platform } from "../server/platform.ts";
import type { Hold } from "./hold.ts";

/** As long as the caller is there, and no longer than it waits. */
export function holdRequest(platform: Platform, reply: FastifyReply): Hold {
  return { gone: watchCaller(reply), patience: AbortSignal.timeout(platform.config.holdMs) };
}
