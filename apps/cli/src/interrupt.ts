// SPDX-License-Identifier: Apache-2.0
import { Complaint } from "./complaint.ts";

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Turns Ctrl-C and kin into an AbortSignal for the time of one piece of work, so that it can clean up after itself.
 * Later ones are ignored: the clean-up is bounded, and interrupting it would leave something behind.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const listeners = Object.entries(SIGNALS).map(([name, exitCode]) => {
    const listener = (): void => controller.abort(new Complaint(`interrupted (${name})`, { exitCode }));
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  try {
    return await work(controller.signal);
  } finally {
    for (const remove of listeners) remove();
  }
}
