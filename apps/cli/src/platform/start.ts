// SPDX-License-Identifier: Apache-2.0
import { readRecord, removeRecord, stopProcess } from "@collimate/embedded";
import { Complaint } from "../complaint.ts";
import { readEndpoints, writeEndpoint } from "../state/endpoints.ts";
import { logPath, makeStateDirectories, recordPath } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import { ensureSecrets } from "../state/secrets.ts";
import { step } from "../terminal/progress.ts";
import type { Part, StartContext, UpOptions } from "./part.ts";
import { servedBy } from "./probe.ts";

/** Called after a part is up and before the next one starts. */
export type AfterStart = (part: Part, context: StartContext) => Promise<void>;

/**
 * Starts the parts that do not run yet, in order, and waits for each to serve. When one fails, or the signal fires,
 * those that this call started are stopped again. Gives the names of the parts that it started.
 */
export async function startParts(
  parts: readonly Part[],
  paths: StatePaths,
  options: UpOptions,
  after: AfterStart = async () => undefined,
  signal?: AbortSignal,
): Promise<string[]> {
  await makeStateDirectories(paths);
  const secrets = await ensureSecrets(paths);
  const begun: Part[] = [];
  let starting: Promise<void> = Promise.resolve();
  try {
    for (const part of parts) {
      signal?.throwIfAborted();
      const context = { paths, secrets, options, endpoints: await readEndpoints(paths) };
      if (!(await runs(part, context))) {
        begun.push(part);
        starting = startOne(part, context);
        await step(part.name, () => orAborted(starting, signal));
      }
      await orAborted(after(part, { ...context, endpoints: await readEndpoints(paths) }), signal);
    }
  } catch (error) {
    await stopParts(begun.toReversed(), paths);
    // A start that was given up on may have been about to launch its process: see it end, then look again.
    await starting.catch(() => undefined);
    await stopParts(begun.toReversed(), paths);
    throw error;
  }
  return begun.map((part) => part.name);
}

async function startOne(part: Part, context: StartContext): Promise<void> {
  try {
    const service = await part.start(context);
    await writeEndpoint(context.paths, part.name, service);
  } catch (cause) {
    if (cause instanceof Complaint) throw cause;
    throw new Complaint(`${part.name} did not start: ${cause instanceof Error ? cause.message : String(cause)}`, {
      hint: `The whole log: ${logPath(context.paths, part.name)}`,
      cause,
    });
  }
}

/** Whether a part runs and serves already. One that runs but does not serve is ended, to be started anew. */
async function runs(part: Part, { paths, endpoints }: StartContext): Promise<boolean> {
  const identity = await readRecord(recordPath(paths, part.name));
  if (identity === undefined) return false;
  const endpoint = endpoints[part.name];
  if (endpoint !== undefined && (await servedBy(identity, part, endpoint))) return true;
  await stopProcess(identity, part.stopSteps);
  return false;
}

/** Stops parts in the given order by what their records say. All are tried; the first failure is thrown. */
export async function stopParts(parts: readonly Part[], paths: StatePaths, told = false): Promise<string[]> {
  const stopped: string[] = [];
  const failures: unknown[] = [];
  for (const part of parts) {
    const record = recordPath(paths, part.name);
    try {
      const identity = await readRecord(record);
      if (identity !== undefined) {
        const work = (): Promise<unknown> => stopProcess(identity, part.stopSteps);
        await (told ? step(`${part.name} stopped`, work) : work());
        stopped.push(part.name);
      }
      await removeRecord(record);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return stopped;
}

/** Gives up waiting when the signal fires; what the promise was about is ended by the caller. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  promise.catch(() => undefined);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
