// SPDX-License-Identifier: Apache-2.0
import { Socket } from "node:net";

import { HostError } from "./errors.ts";

/** Where to connect inside: an abstract unix socket by name, or a TCP port (of 127.0.0.1 unless told otherwise). */
export type DialTarget = { abstract: string } | { tcp: number; host?: string };

/** hostd gives the connection inside 5 s; this is for a daemon that does not answer at all. */
const DEADLINE_MS = 8_000;

/** Sockets that hostd makes inside sandboxes and hands over (the channel of node:child_process), by the tokens of who asked. */
export class Handover {
  readonly #awaited = new Map<number, (socket: Socket) => void>();
  #nextToken = 1;

  /**
   * Asks for a socket and waits for it. `ask` sends the request with the token and rejects when hostd refuses; on success
   * the socket was on its way before the answer.
   */
  async socket(ask: (token: number) => Promise<unknown>, signal: AbortSignal | undefined): Promise<Socket> {
    const token = this.#nextToken++ % 2 ** 31;
    const stop = AbortSignal.any([AbortSignal.timeout(DEADLINE_MS), ...(signal ? [signal] : [])]);
    const arrived = new Promise<Socket>((resolve) => this.#awaited.set(token, resolve));
    const given = new Promise<never>((_, reject) => {
      const giveUp = () => reject(new HostError("dial", "deadline", "no connection in time, or given up", undefined, stop.reason));
      if (stop.aborted) giveUp();
      stop.addEventListener("abort", giveUp, { once: true });
    });
    try {
      const asked = ask(token).then(() => arrived);
      // When it was given up: a refusal that comes later is nobody's business.
      asked.catch(() => undefined);
      return await Promise.race([asked, given]);
    } catch (error) {
      // It may still be on its way.
      this.#awaited.set(token, (socket) => socket.destroy());
      setTimeout(() => this.#awaited.delete(token), DEADLINE_MS).unref();
      throw error;
    }
  }

  /** Takes a message of hostd's channel. */
  take(message: unknown, handle: unknown): void {
    if (!(handle instanceof Socket)) return;
    const token = typeof message === "object" && message !== null && "dial" in message ? Number(message.dial) : -1;
    const deliver = this.#awaited.get(token);
    this.#awaited.delete(token);
    // Half-closes mean something to either end.
    handle.allowHalfOpen = true;
    if (deliver) deliver(handle);
    else handle.destroy();
  }
}
