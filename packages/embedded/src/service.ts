// SPDX-License-Identifier: Apache-2.0
import type { Launched, LaunchSpec } from "./process/launch.ts";
import { launch } from "./process/launch.ts";
import { listensOn } from "./process/listening.ts";
import { tailOf } from "./process/log.ts";
import { removeRecord, writeRecord } from "./process/record.ts";
import { stopProcess } from "./process/stop.ts";
import type { StopStep } from "./process/stop.ts";
import { untilReady } from "./readiness.ts";

/** What every start function takes. */
export interface StartOptions {
  /** Holds everything of the service: data, configuration, log. Made when missing, kept by stop(). */
  dir: string;
  /** Loopback port; a free one is picked when missing. */
  port?: number;
  /** "with-parent" (default): dies with our process. "detached": lives on, named by `record`. */
  lifetime?: "with-parent" | "detached";
  /** Where to write the pid file (process identity, see readRecord). */
  record?: string;
  /** Default: `<dir>/<name>.log`. */
  log?: string;
  /** How long it may take to become ready. Default 30 s. */
  deadlineMs?: number;
}

/** A running service. `await using` stops it. */
export interface Service extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly log: string;
  /** Resolves when the process ends, for whatever reason, to words for a message. */
  readonly exited: Promise<string>;
  /** Ends it within bounds; safe to call twice. */
  stop(): Promise<void>;
}

export interface ServicePlan {
  name: string;
  url: string;
  port: number;
  spec: Omit<LaunchSpec, "name" | "log" | "lifetime">;
  stopSteps: readonly StopStep[];
  /** Whether what listens on the port serves. That it is this process is checked besides. */
  probe: () => Promise<void>;
}

/** Launches what a plan says, waits until it answers, and gives it back as a service. Leaves nothing when that fails. */
export async function startService(plan: ServicePlan, options: StartOptions): Promise<Service> {
  const log = options.log ?? `${options.dir}/${plan.name}.log`;
  const launched = await launch({ ...plan.spec, name: plan.name, log, lifetime: options.lifetime ?? "with-parent" });
  const stop = stopper(plan, launched, options.record);
  try {
    if (options.record !== undefined) await writeRecord(options.record, recordOf(launched));
    await untilReady({
      name: plan.name,
      probe: async () => {
        await plan.probe();
        if (!(await listensOn(launched.pid, plan.port))) throw new Error(`port ${plan.port} is served by another process`);
      },
      exited: launched.exited,
      deadlineMs: options.deadlineMs ?? 30_000,
      tail: () => tailOf(log),
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const { url, port, name } = plan;
  return { name, url, port, log, pid: launched.pid, exited: launched.exited, stop, [Symbol.asyncDispose]: stop };
}

function stopper(plan: ServicePlan, launched: Launched, record: string | undefined): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () => {
    stopping ??= stopProcess(launched, plan.stopSteps).then(async () => {
      if (record !== undefined) await removeRecord(record);
    });
    return stopping;
  };
}

function recordOf({ pid, startTime, bootId }: Launched): { pid: number; startTime: string; bootId: string } {
  return { pid, startTime, bootId };
}

/** Runs a start that picks its own port again when somebody else took the port in between. */
export async function withFreePort(
  port: number | undefined,
  pick: () => Promise<number>,
  start: (port: number) => Promise<Service>,
): Promise<Service> {
  if (port !== undefined) return start(port);
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await pick());
    } catch (error) {
      if (attempt === 3 || !/address already in use/i.test(String(error))) throw error;
    }
  }
}
