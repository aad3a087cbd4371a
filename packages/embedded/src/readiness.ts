// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";

export interface Wait {
  /** Shown in messages. */
  name: string;
  /** Asks the thing itself; resolves once it answers as it should, rejects with the reason while it does not. */
  probe: () => Promise<void>;
  /** Ends the wait early: resolves, to words for the message, when the process has gone. */
  exited?: Promise<string>;
  deadlineMs: number;
  /** Called for the last lines of the log when the wait fails. */
  tail: () => Promise<string>;
}

const POLL_MS = 25;

/** Waits until a probe succeeds; fails with the log's tail when the process dies or the deadline passes. */
export async function untilReady(wait: Wait): Promise<void> {
  const deadline = performance.now() + wait.deadlineMs;
  let gone: string | undefined;
  void wait.exited?.then((how) => (gone = how));
  for (;;) {
    const reason = await wait.probe().then(() => undefined, String);
    if (reason === undefined && gone === undefined) return;
    if (gone !== undefined) throw new NotReady(`${wait.name} ended while starting (${gone})`, await wait.tail());
    if (performance.now() > deadline) {
      throw new NotReady(`${wait.name} was not ready within ${wait.deadlineMs / 1000} s (${reason})`, await wait.tail());
    }
    await delay(POLL_MS);
  }
}

export class NotReady extends Error {
  override readonly name = "NotReady";
  readonly logTail: string;
  constructor(what: string, logTail: string) {
    super(`${what}. The last lines of its log:\n${logTail}`);
    this.logTail = logTail;
  }
}
