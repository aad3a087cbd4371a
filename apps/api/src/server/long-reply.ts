// SPDX-License-Identifier: Apache-2.0
/**
 * A reply that may take long. Clients give up on a silent connection (wire contract, section 1: Node's fetch after 300 s),
 * and JSON may start with white space: so after a while the headers go out, and then a blank now and then.
 * The status is 200 from there on. Should the work fail after that, the connection is broken off: a body with an error
 * in it would be read as a command that ended with 0 by clients that look only at `exit_code`.
 */
import type { FastifyReply } from "fastify";

export interface Patience {
  /** Without an answer for this long, the headers go out. */
  readonly earlyMs: number;
  readonly blankMs: number;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

export async function longReply(reply: FastifyReply, work: Promise<object>, patience: Patience): Promise<FastifyReply> {
  const early = Promise.withResolvers<"early">();
  const timer = setTimeout(() => early.resolve("early"), patience.earlyMs);
  const first = await Promise.race([work, early.promise]).finally(() => clearTimeout(timer));
  if (first !== "early") return reply.send(first);
  return stream(reply, work, patience);
}

async function stream(reply: FastifyReply, work: Promise<object>, patience: Patience): Promise<FastifyReply> {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.setHeader("content-type", "application/json; charset=utf-8");
  if (patience.stopping.aborted) raw.setHeader("connection", "close");
  raw.writeHead(200);
  const blank = () => {
    if (!raw.destroyed) raw.write(" ");
  };
  blank();
  const blanks = setInterval(blank, patience.blankMs);
  try {
    const result = await work;
    if (!raw.destroyed) raw.end(JSON.stringify(result));
  } catch (error) {
    reply.request.log.error({ err: error }, "failed after the headers were sent; the connection is broken off");
    raw.destroy();
  } finally {
    clearInterval(blanks);
  }
  return reply;
}
