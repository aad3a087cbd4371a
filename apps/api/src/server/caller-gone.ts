// SPDX-License-Identifier: Apache-2.0
/** Whether there is still someone to answer. */
import type { FastifyReply } from "fastify";

/** Thrown where there is nobody left to answer. */
export class CallerGone extends Error {
  constructor() {
    super("the caller closed the connection");
    this.name = "CallerGone";
  }
}

/** Aborted when the connection closes before the whole reply has been handed to it. */
export function watchCaller(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const raw = reply.raw;
  if (raw.destroyed && !raw.writableFinished) controller.abort();
  raw.once("close", () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
