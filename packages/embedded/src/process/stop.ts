// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "./identity.ts";
import type { ProcessIdentity } from "./identity.ts";

/** One rung of a stop: send the signal, then give the process this long to end. */
export interface StopStep {
  signal: NodeJS.Signals;
  ms: number;
}

export const POLITE_STOP: readonly StopStep[] = [
  { signal: "SIGTERM", ms: 10_000 },
  { signal: "SIGKILL", ms: 5_000 },
];

const POLL_MS = 20;

/**
 * Ends a process, rung by rung, and returns the signal that did it ("none": it was gone already).
 * Works for processes that are not our children too, hence the polling: Node has no pidfd.
 */
export async function stopProcess(identity: ProcessIdentity, steps: readonly StopStep[] = POLITE_STOP): Promise<NodeJS.Signals | "none"> {
  if (!(await isAlive(identity))) return "none";
  for (const { signal, ms } of steps) {
    if (!send(identity.pid, signal)) return signal;
    if (await waitForEnd(identity, ms)) return signal;
  }
  throw new Error(`process ${identity.pid} did not end after ${steps.map((step) => step.signal).join(", ")}`);
}

async function waitForEnd(identity: ProcessIdentity, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  for (;;) {
    if (!(await isAlive(identity))) return true;
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}
