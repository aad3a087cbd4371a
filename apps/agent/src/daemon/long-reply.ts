// SPDX-License-Identifier: Apache-2.0
/**
 * A reply that may take long. Clients give up on a silent connection (Node's fetch after 300 s), and JSON may start with
 * white space (wire contract, section 1): after a while the headers go out, then a blank now and then. The status is 200
 * from there on. Work that fails after that breaks the connection: a body with an error in it would be read as a command
 * that ended with 0 by clients that look only at `exit_code`.
 */
import type { FastifyReply } from "fastify";

export interface Patience {
  /** Without an answer for this long, the headers go out. */
  readonly earlyMs: number;
  readonly blankMs: number;
}

export const PATIENCE: Patience = { earlyMs: 10_000, blankMs: 5_000 };

export async function longReply(reply: FastifyReply, work: Promise<object>, patience: Patience): Promise<FastifyReply> {
  const { promise: early, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, patience.earlyMs, undefined);
  const first = await Promise.race([work, early]).finally(() => clearTimeout(timer));
  if (first) return reply.send(first);
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { ...headersOf(reply), "content-type": "application/json; charset=utf-8" });
  raw.write(" ");
  const blanks = setInterval(() => raw.write(" "), patience.blankMs);
  try {
    raw.end(JSON.stringify(await work));
  } catch (error) {
    reply.request.log.warn({ err: error }, "failed after the headers were sent; the connection is broken off");
    raw.destroy();
  } finally {
    clearInterval(blanks);
  }
  return reply;
}

function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
