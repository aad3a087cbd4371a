// SPDX-License-Identifier: Apache-2.0
import type { FastifyReply } from "fastify";
import { watchCaller } from "../server/caller-gone.ts";
import type { Platform } from "../server/platform.ts";
import type { Hold } from "./hold.ts";

/** As long as the caller is there, and no longer than it waits. Most requests never wait, so the timer is made when one does. */
export function holdRequest(platform: Platform, reply: FastifyReply): Hold {
  const until = performance.now() + platform.config.holdMs;
  let patience: AbortSignal | undefined;
  return {
    gone: watchCaller(reply),
    get patience() {
      return (patience ??= AbortSignal.timeout(Math.max(0, Math.ceil(until - performance.now()))));
    },
  };
}
