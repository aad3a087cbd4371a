// SPDX-License-Identifier: Apache-2.0
/** Whether there is still someone to answer. */
import type { FastifyReply } from "fastify";

export interface CallerWatch {
  /** Aborted when the connection closed before the whole reply had been handed to it. */
  readonly gone: AbortSignal;
}

export function watchCaller(reply: FastifyReply): CallerWatch {
  const controller = new AbortController();
  const raw = reply.raw;
  if (raw.destroyed && !raw.writableFinished) controller.abort();
  raw.once("close", () => {
    if (!raw.writableFinished) controller.abort();
  });
  return { gone: controller.signal };
}
